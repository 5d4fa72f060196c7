// Times as Kiln's documents write them: RFC 3339 in UTC, whole seconds, from 1970 on. A number is seconds.

export function parseTime(text: string): number | null {
  const match = /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z$/.exec(text);
  if (!match) return null;
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number);
  if (year < 1970 || hour > 23 || minute > 59 || second > 59) return null;
  const time = Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
  // A day that the month does not have would become one of the next.
  return formatTime(time) === text ? time : null;
}

export function formatTime(seconds: number): string {
  return new Date(Math.floor(seconds) * 1000).toISOString().replace(/\.[0-9]{3}Z$/, "Z");
}
