// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Covers what one thread sees of a mailbox. mailbox_interleaving_test.cc covers
// several.

#include "waiter/engine/mailbox.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"

namespace waiter::internal::mailbox_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Mail = std::vector<int>;

bool Post(BasicMailbox<Mail>& mailbox, int letter) {
  return mailbox.Post([&](Mail& mail) { mail.push_back(letter); });
}

TEST(MailboxTest, TakeReturnsAllMailInOrderOnce) {
  BasicMailbox<Mail> mailbox;
  EXPECT_FALSE(mailbox.has_mail());
  EXPECT_TRUE(Post(mailbox, 1));
  EXPECT_TRUE(Post(mailbox, 2));
  EXPECT_TRUE(mailbox.has_mail());

  Mail mail;
  mailbox.Take(mail);
  EXPECT_THAT(mail, ElementsAre(1, 2));
  EXPECT_FALSE(mailbox.has_mail());

  mail.clear();
  mailbox.Take(mail);
  EXPECT_THAT(mail, IsEmpty());
}

TEST(MailboxTest, ClosedMailboxRefusesMailWithoutACall) {
  BasicMailbox<Mail> mailbox;
  mailbox.Close();

  EXPECT_FALSE(Post(mailbox, 1));

  EXPECT_FALSE(mailbox.has_mail());
  EXPECT_FALSE(mailbox.Rest());
}

TEST(MailboxTest, PostOfNothingIsMail) {
  BasicMailbox<Mail> mailbox;
  mailbox.Post([](Mail&) {});
  EXPECT_TRUE(mailbox.has_mail());

  Mail mail;
  mailbox.Take(mail);
  EXPECT_THAT(mail, IsEmpty());
  EXPECT_FALSE(mailbox.has_mail());
}

TEST(MailboxTest, NothingSleepsWhileThereIsMail) {
  BasicMailbox<Mail> mailbox;
  Post(mailbox, 1);

  mailbox.SleepUntil(MonotonicTime::max());
  mailbox.SleepBy([](const waiter::stop_token&) { FAIL() << "it sleeps"; });
  EXPECT_TRUE(mailbox.Rest());
}

TEST(MailboxTest, SleepEndsAtItsTimeWithoutMail) {
  BasicMailbox<Mail> mailbox;

  mailbox.SleepUntil(GetRealClock().MonotonicNow());

  EXPECT_FALSE(mailbox.has_mail());
}

TEST(MailboxTest, HookIsCalledOnceForAllMailBetweenTwoTakes) {
  int calls = 0;
  BasicMailbox<Mail> mailbox([&] { ++calls; });
  Mail mail;
  for (int round = 1; round <= 3; ++round) {
    Post(mailbox, 1);
    EXPECT_EQ(calls, round);
    Post(mailbox, 2);
    mailbox.Post([](Mail&) {});
    EXPECT_EQ(calls, round);
    mailbox.Take(mail);
    mail.clear();
  }
  mailbox.Take(mail);
  EXPECT_EQ(calls, 3);
}

TEST(MailboxTest, HookMayPost) {
  int calls = 0;
  BasicMailbox<Mail>* posted_to = nullptr;
  BasicMailbox<Mail> mailbox([&] {
    ++calls;
    Post(*posted_to, calls);
  });
  posted_to = &mailbox;

  Post(mailbox, 7);

  EXPECT_EQ(calls, 1);
  Mail mail;
  mailbox.Take(mail);
  EXPECT_THAT(mail, ElementsAre(7, 1));
}

TEST(MailboxTest, ClosedMailboxCallsNoHook) {
  int calls = 0;
  BasicMailbox<Mail> mailbox([&] { ++calls; });
  mailbox.Close();

  Post(mailbox, 1);

  EXPECT_EQ(calls, 0);
}

TEST(MailboxTest, MailStopsTheTokenOfASleepAndTheNextSleepHasAnother) {
  BasicMailbox<Mail> mailbox;
  for (int letter = 0; letter < 3; ++letter) {
    Mail mail;
    mailbox.SleepBy([&](const waiter::stop_token& woken) {
      EXPECT_FALSE(woken.stop_requested());
      Post(mailbox, letter);
      EXPECT_TRUE(woken.stop_requested());
    });
    mailbox.Take(mail);
    EXPECT_THAT(mail, ElementsAre(letter));
  }
}

}  // namespace
}  // namespace waiter::internal::mailbox_test
