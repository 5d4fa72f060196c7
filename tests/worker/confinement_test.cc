#include "worker/sandbox/confinement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace kiln::sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Confinement, RemediesAreInTheWordsOfThePlace) {
  const Remedies pod = remediesFor({.surroundings = Surroundings::kPod, .filtered = true});
  EXPECT_THAT(pod.users, HasSubstr("localhostProfile: kiln-worker.json"));
  EXPECT_THAT(pod.mounts, HasSubstr("appArmorProfile: {type: Unconfined}"));
  EXPECT_THAT(pod.proc, HasSubstr("procMount: Unmasked"));
  EXPECT_THAT(pod.proc, HasSubstr("hostUsers: false"));
  EXPECT_THAT(pod.memory, HasSubstr("memory limit"));
  EXPECT_THAT(pod.account, Not(HasSubstr("root")));

  const Remedies container = remediesFor({.surroundings = Surroundings::kContainer, .filtered = true});
  EXPECT_THAT(container.users, HasSubstr("seccomp=infra/deploy/seccomp/kiln-worker.json"));
  EXPECT_THAT(container.mounts, HasSubstr("apparmor=unconfined"));
  EXPECT_THAT(container.proc, HasSubstr("systempaths=unconfined"));

  EXPECT_THAT(remediesFor({.filtered = true}).users, HasSubstr("RestrictNamespaces=no"));
  EXPECT_THAT(remediesFor({}).users, HasSubstr("sysctl"));
  EXPECT_THAT(remediesFor({.appArmor = "bwrap_profile"}).mounts, HasSubstr("bwrap_profile"));
  EXPECT_THAT(remediesFor({}).memory, HasSubstr("Delegate=yes"));
}

TEST(Confinement, IsToldInWords) {
  EXPECT_EQ((Confinement{.surroundings = Surroundings::kPod,
                         .filtered = true,
                         .noNewPrivileges = true,
                         .appArmor = "cri-containerd.apparmor.d"})
                .describe(),
            "a pod, with a filter of system calls, without new privileges, AppArmor profile "
            "cri-containerd.apparmor.d");
  EXPECT_EQ(Confinement{}.describe(),
            "no container, without a filter of system calls, not confined by AppArmor");
}

TEST(Confinement, ThisProcessIsLookedAt) {
  const Confinement found = readConfinement();
  EXPECT_EQ(found.users, 0) << strerror(found.users);
  EXPECT_EQ(found.mounts, 0) << strerror(found.mounts);
}

}  // namespace
}  // namespace kiln::sandbox
