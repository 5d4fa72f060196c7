#include "api/cli/base/transfer_meter.h"

#include <gtest/gtest.h>

namespace kiln::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMega = 1'000'000;

TEST(TransferText, SaysRateAndWhatIsLeft) {
  EXPECT_EQ(transferText(20 * kMega, 100 * kMega, 20 * kMega, 4), "20.0 MB of 100.0 MB, 5.0 MB/s, 16 s left");
  EXPECT_EQ(transferText(kMega, 1000 * kMega, kMega, 1), "1.0 MB of 1.0 GB, 1.0 MB/s, 16 min 39 s left");
  EXPECT_EQ(transferText(kMega, 36'001 * kMega, kMega, 1), "1.0 MB of 36.0 GB, 1.0 MB/s, 10 h 0 min left");
}

TEST(TransferText, LeavesOutWhatNobodyCanKnow) {
  EXPECT_EQ(transferText(0, kMega, 0, 5), "0 B of 1.0 MB") << "nothing has come yet";
  EXPECT_EQ(transferText(kMega, kMega, kMega, 2), "1.0 MB of 1.0 MB, 500.0 kB/s") << "all has";
  EXPECT_EQ(transferText(1, ~std::uint64_t{0}, 1, 5), "1 B of 18446744.1 TB, 0 B/s") << "never";
}

// On a clock of the test's.
struct MeterTest : testing::Test {
  TransferMeter::Time now{};
  std::string said(bool shown, const std::function<void(TransferMeter&)>& use) {
    testing::internal::CaptureStderr();
    {
      TransferMeter meter(shown, "sending", [this] { return now; });
      use(meter);
    }
    std::fflush(stderr);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(MeterTest, IsSilentForTwoSecondsAndLeavesNothingBehind) {
  const std::string text = said(true, [&](TransferMeter& meter) {
    meter.at(0, 10 * kMega);
    now += milliseconds(1999);
    meter.at(kMega, 10 * kMega);
    now += milliseconds(1);
    meter.at(2 * kMega, 10 * kMega);
    now += milliseconds(100);
    meter.at(3 * kMega, 10 * kMega);  // too soon for another line
    now += seconds(2);
    meter.at(4 * kMega, 10 * kMega);
  });
  EXPECT_EQ(text,
            "\x1b[2Ksending 2.0 MB of 10.0 MB, 1.0 MB/s, 8 s left\r"
            "\x1b[2Ksending 4.0 MB of 10.0 MB, 975.6 kB/s, 7 s left\r\x1b[2K");
}

TEST_F(MeterTest, ShortTransfersAndOtherStreamsSayNothing) {
  EXPECT_EQ(said(true, [&](TransferMeter& meter) { meter.at(kMega, kMega); }), "");
  EXPECT_EQ(said(false,
                 [&](TransferMeter& meter) {
                   meter.at(0, kMega);
                   now += seconds(9);
                   meter.at(1, kMega);
                 }),
            "");
}

// A second try after the farm was away counts what is missing anew.
TEST_F(MeterTest, AnotherTotalBeginsAnew) {
  const std::string text = said(true, [&](TransferMeter& meter) {
    meter.at(0, 10 * kMega);
    now += seconds(60);
    meter.at(0, 6 * kMega);
    now += seconds(2);
    meter.at(4 * kMega, 6 * kMega);
  });
  EXPECT_EQ(text, "\x1b[2Ksending 4.0 MB of 6.0 MB, 2.0 MB/s, 1 s left\r\x1b[2K");
}

}  // namespace
}  // namespace kiln::cli
