// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/json.h"
#include "tests/support/vectors.h"
#include "waiter/classify.h"
#include "waiter/poll.h"

namespace waiter::error_classifier_test {
namespace {

using Type = ServiceError::Type;

int HttpOf(const Json& json) { return static_cast<int>(json.number()); }

// Returns the error that a case of botocore's tests describes. Texts in angle
// brackets mean errors without an answer.
ServiceError BotocoreError(const Json& json) {
  ServiceError error;
  if (!json["status"].is_null()) error.http_status = HttpOf(json["status"]);
  if (json["code"].is_string()) {
    if (absl::StartsWith(json["code"].string(), "<")) {
      error.type = Type::kConnection;
    } else {
      error.code = json["code"].string();
    }
  }
  return error;
}

class ErrorVectorsTest
    : public VectorTest<"error_classification.json", /*cases=*/86> {
 protected:
  // `entry` is the place in the file that says so.
  static void Expect(const Json& entry, const ErrorClassifier& classifier,
                     const ServiceError& error, PollStatus expected) {
    EXPECT_EQ(classifier.ClassOf(error), expected)
        << "HTTP " << error.http_status << " code '" << error.code << "'";
    File().Ran(entry);
  }

  // The errors with one of `codes`, or of these HTTP `statuses`, have a class.
  static void ExpectCodes(const Json& codes, const ErrorClassifier& classifier,
                          PollStatus expected) {
    for (const Json& code : codes.array()) {
      Expect(code, classifier, {.http_status = 400, .code = code.string()},
             expected);
    }
  }
  static void ExpectStatuses(const Json& statuses,
                             const ErrorClassifier& classifier,
                             PollStatus expected) {
    for (const Json& status : statuses.array()) {
      Expect(status, classifier, {.http_status = HttpOf(status)}, expected);
    }
  }
};

TEST_F(ErrorVectorsTest, KotlinCosts) {
  File().Describes({"source"});
  for (const char* profile : {"legacy", "v2026"}) {
    File().NotRunEach(File()["kotlin_cost_kind"][profile],
                      "the quota, not the class, decides the cost of a retry");
  }
}

TEST_F(ErrorVectorsTest, KotlinCodesHaveTheirClasses) {
  const ErrorClassifier kotlin = ErrorClassifier::AwsKotlin();
  const Json& codes = File()["kotlin_codes"];
  for (const auto& [list, expected] :
       {std::pair("throttling", PollStatus::kThrottled),
        {"transient", PollStatus::kServerError}}) {
    ExpectCodes(codes[list], kotlin, expected);
    for (const Json& code : codes[list].array()) {
      EXPECT_EQ(ClassOfAwsErrorCode(code.string()), expected) << code.string();
    }
  }
  ExpectStatuses(codes["status_transient"], kotlin, PollStatus::kServerError);
}

TEST_F(ErrorVectorsTest, KotlinTriesCodeThenStatusThenFlags) {
  const ErrorClassifier kotlin = ErrorClassifier::AwsKotlin();
  const Json& order = File()["kotlin_codes"]["order"];
  ASSERT_EQ(order.string(),
            "error code first, then status, then StandardRetryPolicy");
  // The code comes before the status.
  Expect(order, kotlin, {.http_status = 503, .code = "SlowDown"},
         PollStatus::kThrottled);
  // The status comes before the flags.
  Expect(order, kotlin,
         {.http_status = 503, .code = "Other", .type = Type::kClient},
         PollStatus::kServerError);
  // The flags come last.
  Expect(order, kotlin,
         {.http_status = 400, .code = "Other", .retryable = true},
         PollStatus::kServerError);
}

TEST_F(ErrorVectorsTest, BotocoreThrottled) {
  for (const Json& json : File()["botocore_throttled"].array()) {
    const PollStatus found =
        ErrorClassifier::Botocore().ClassOf(BotocoreError(json));
    EXPECT_EQ(found == PollStatus::kThrottled, json["retryable"].number() == 1)
        << PollStatusName(found);
    File().Ran(json);
  }
}

TEST_F(ErrorVectorsTest, BotocoreTransientErrorsAreServerErrors) {
  std::set<std::string> throttled;
  for (const Json& json : File()["botocore_throttled"].array()) {
    if (json["retryable"].number() == 1) {
      throttled.insert(json["code"].string());
    }
  }
  for (const Json& json : File()["botocore_transient"].array()) {
    const ServiceError error = BotocoreError(json);
    const PollStatus found = ErrorClassifier::Botocore().ClassOf(error);
    if (json["retryable"].number() == 0) {
      EXPECT_NE(found, PollStatus::kServerError) << error.code;
    } else {
      // An error in both of botocore's tables counts as throttled.
      EXPECT_EQ(found, throttled.contains(std::string(error.code))
                           ? PollStatus::kThrottled
                           : PollStatus::kServerError)
          << error.code;
    }
    File().Ran(json);
  }
}

TEST_F(ErrorVectorsTest, GoV1CodesHaveTheirClasses) {
  const ErrorClassifier go = ErrorClassifier::AwsGoV1();
  const Json& lists = File()["go_v1"];
  ExpectCodes(lists["throttle_codes"], go, PollStatus::kThrottled);
  ExpectStatuses(lists["throttle_status"], go, PollStatus::kThrottled);
  ExpectCodes(lists["retryable_codes"], go, PollStatus::kServerError);
  ExpectCodes(lists["creds_expired"], go, PollStatus::kServerError);
  ExpectStatuses(lists["retryable_status"], go, PollStatus::kServerError);
}

// The HTTP statuses below 510 that are polled again if the error has no code.
std::map<PollStatus, std::string> RetriedHttp(const ErrorClassifier& of) {
  std::map<PollStatus, std::string> retried;
  for (int http = 100; http < 510; ++http) {
    const PollStatus found = of.ClassOf({.http_status = http});
    if (found != PollStatus::kSuccess && found != PollStatus::kFailed) {
      absl::StrAppend(&retried[found], http, " ");
    }
  }
  return retried;
}

TEST(ErrorClassifierTest, SystemsRetryDifferentHttpStatuses) {
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(RetriedHttp(ErrorClassifier::AwsKotlin()),
              ElementsAre(Pair(PollStatus::kServerError, "500 502 503 504 ")));
  EXPECT_THAT(RetriedHttp(ErrorClassifier::Botocore()),
              ElementsAre(Pair(PollStatus::kServerError, "500 502 503 504 ")));
  EXPECT_THAT(RetriedHttp(ErrorClassifier::AwsGoV1()),
              ElementsAre(Pair(PollStatus::kThrottled, "429 502 503 504 "),
                          Pair(PollStatus::kServerError, "500 ")));
  EXPECT_THAT(RetriedHttp(ErrorClassifier::Http()),
              ElementsAre(Pair(PollStatus::kNotReady, "202 "),
                          Pair(PollStatus::kThrottled, "429 "),
                          Pair(PollStatus::kServerError,
                               "408 425 500 502 503 504 506 507 508 509 ")));
}

TEST(ErrorClassifierTest, HttpAloneAgreesWithClassOfHttp) {
  for (int http = 0; http <= 700; ++http) {
    EXPECT_EQ(ErrorClassifier::Http().ClassOf({.http_status = http}),
              ClassOfHttp(http))
        << http;
  }
}

TEST(ErrorClassifierTest, CodesAreCaseSensitive) {
  EXPECT_EQ(ClassOfAwsErrorCode("Throttling"), PollStatus::kThrottled);
  EXPECT_EQ(ClassOfAwsErrorCode("throttling"), PollStatus::kFailed);
  EXPECT_EQ(ClassOfAwsErrorCode("Throttlin"), PollStatus::kFailed);
  EXPECT_EQ(ClassOfAwsErrorCode(""), PollStatus::kFailed);
}

TEST(ErrorClassifierTest, NamespaceAndUrlAroundACodeAreDropped) {
  for (const char* code :
       {"com.amazonaws.dynamodb.v20120810#ThrottlingException",
        "ThrottlingException:http://internal.amazon.com/coral/",
        "aws.protocols#ThrottlingException:http://amazon.com/#x"}) {
    EXPECT_EQ(ClassOfAwsErrorCode(code), PollStatus::kThrottled) << code;
    EXPECT_EQ(ErrorClassifier::Http()
                  .With(code, PollStatus::kNotReady)
                  .ClassOf({.code = "ThrottlingException"}),
              PollStatus::kNotReady)
        << code;
  }
}

TEST(ErrorClassifierTest, FlagsCountUnlessTheSystemHasNone) {
  struct Case {
    ServiceError error;
    PollStatus http, aws, go;
  };
  const std::vector<Case> cases = {
      {{.throttling = true},
       PollStatus::kThrottled,
       PollStatus::kThrottled,
       PollStatus::kFailed},
      {{.retryable = true},
       PollStatus::kServerError,
       PollStatus::kServerError,
       PollStatus::kFailed},
      {{.type = Type::kClient, .retryable = true, .throttling = true},
       PollStatus::kThrottled,
       PollStatus::kThrottled,
       PollStatus::kFailed},
      {{.type = Type::kClient, .retryable = true},
       PollStatus::kServerError,
       PollStatus::kServerError,
       PollStatus::kFailed},
      // To the SDKs, a server's fault alone is no reason to try again.
      {{.type = Type::kServer},
       PollStatus::kServerError,
       PollStatus::kFailed,
       PollStatus::kFailed},
      {{.http_status = 501, .type = Type::kServer},
       PollStatus::kFailed,
       PollStatus::kFailed,
       PollStatus::kFailed},
      {{.type = Type::kClient},
       PollStatus::kFailed,
       PollStatus::kFailed,
       PollStatus::kFailed},
      {{.type = Type::kConnection},
       PollStatus::kServerError,
       PollStatus::kServerError,
       PollStatus::kServerError},
      {{}, PollStatus::kFailed, PollStatus::kFailed, PollStatus::kFailed},
  };
  for (const auto& [error, http, aws, go] : cases) {
    SCOPED_TRACE(absl::StrCat("type ", static_cast<int>(error.type),
                              " retryable ", error.retryable, " throttling ",
                              error.throttling));
    EXPECT_EQ(ErrorClassifier::Http().ClassOf(error), http);
    EXPECT_EQ(ErrorClassifier::AwsKotlin().ClassOf(error), aws);
    EXPECT_EQ(ErrorClassifier::Botocore().ClassOf(error), aws);
    EXPECT_EQ(ErrorClassifier::AwsGoV1().ClassOf(error), go);
  }
}

TEST(ErrorClassifierTest, ErrorWithin200IsNotASuccess) {
  for (const ErrorClassifier& classifier :
       {ErrorClassifier::Http(), ErrorClassifier::AwsKotlin(),
        ErrorClassifier::Botocore(), ErrorClassifier::AwsGoV1()}) {
    EXPECT_EQ(classifier.ClassOf({.http_status = 200}), PollStatus::kSuccess);
    EXPECT_EQ(classifier.ClassOf({.http_status = 200, .code = "InternalError"}),
              PollStatus::kFailed);
    EXPECT_EQ(
        classifier.ClassOf({.http_status = 200, .type = Type::kConnection}),
        PollStatus::kServerError);
  }
  EXPECT_EQ(ErrorClassifier::AwsKotlin().ClassOf(
                {.http_status = 200, .code = "SlowDown"}),
            PollStatus::kThrottled);
}

TEST(ErrorClassifierTest, ChangesWinOverTheTableAndKeepTheOriginal) {
  const ErrorClassifier original = ErrorClassifier::AwsKotlin();
  const ErrorClassifier changed =
      original.With("ResourceNotFoundException", PollStatus::kNotReady)
          .With(404, PollStatus::kSuccess)
          .With("SlowDown", PollStatus::kFailed);

  EXPECT_EQ(changed.ClassOf({.http_status = 503, .code = "SlowDown"}),
            PollStatus::kFailed);
  EXPECT_EQ(changed.ClassOf({.http_status = 404}), PollStatus::kSuccess);
  EXPECT_EQ(changed.ClassOf({.http_status = 404, .throttling = true}),
            PollStatus::kSuccess);
  EXPECT_EQ(changed.ClassOf({.code = "Throttling"}), PollStatus::kThrottled);
  EXPECT_EQ(original.ClassOf({.http_status = 503, .code = "SlowDown"}),
            PollStatus::kThrottled);
  EXPECT_EQ(original.ClassOf({.http_status = 404}), PollStatus::kFailed);
}

TEST(ErrorClassifierTest, ChangedCodeWinsOverAChangedStatus) {
  const ErrorClassifier classifier = ErrorClassifier::Http()
                                         .With("NotYet", PollStatus::kNotReady)
                                         .With(404, PollStatus::kSuccess);

  EXPECT_EQ(classifier.ClassOf({.http_status = 404, .code = "NotYet"}),
            PollStatus::kNotReady);
}

TEST(ErrorClassifierTest, LastChangeOfAKeyWins) {
  const ErrorClassifier classifier = ErrorClassifier::Http()
                                         .With(404, PollStatus::kSuccess)
                                         .With(404, PollStatus::kNotReady);

  EXPECT_EQ(classifier.ClassOf({.http_status = 404}), PollStatus::kNotReady);
}

TEST(ErrorClassifierTest, StatusCodesCanBeChangedToo) {
  const ErrorClassifier classifier = ErrorClassifier::Http().With(
      absl::StatusCode::kNotFound, PollStatus::kNotReady);

  EXPECT_EQ(classifier.ClassOfStatus(absl::StatusCode::kNotFound),
            PollStatus::kNotReady);
  EXPECT_EQ(classifier.ClassOfStatus(absl::StatusCode::kOk),
            PollStatus::kSuccess);
  EXPECT_EQ(classifier.ClassOfStatus(absl::StatusCode::kUnavailable),
            PollStatus::kServerError);
}

TEST(ErrorClassifierTest, ChangeOfOneKindLeavesTheOthers) {
  const ErrorClassifier classifier =
      ErrorClassifier::AwsKotlin()
          .With(absl::StatusCode::kNotFound, PollStatus::kNotReady)
          .With("NotYet", PollStatus::kNotReady)
          .With(404, PollStatus::kNotReady);

  EXPECT_EQ(classifier.ClassOf({}), PollStatus::kFailed);
  EXPECT_EQ(classifier.ClassOf({.http_status = 400}), PollStatus::kFailed);
  EXPECT_EQ(classifier.ClassOf({.code = "Other"}), PollStatus::kFailed);
  EXPECT_EQ(classifier.ClassOfStatus(absl::StatusCode::kOk),
            PollStatus::kSuccess);
}

TEST(ErrorClassifierTest, AnswersHaveClassCodeTextAndHint) {
  const ErrorClassifier classifier = ErrorClassifier::AwsKotlin();

  const auto describe = [&]() -> Poll<std::string> {
    return classifier.Answer(
        {.http_status = 400, .code = "ThrottlingException"}, "slow down",
        absl::Seconds(2));
  };
  EXPECT_EQ(describe().status(), PollStatus::kThrottled);
  EXPECT_EQ(
      describe().error(),
      absl::ResourceExhaustedError("ThrottlingException, HTTP 400: slow down"));
  EXPECT_EQ(describe().retry_after(), absl::Seconds(2));

  const Poll<> missing = classifier.Answer({.http_status = 404});
  EXPECT_EQ(missing.status(), PollStatus::kFailed);
  EXPECT_EQ(missing.error(), absl::NotFoundError("HTTP 404"));
  EXPECT_TRUE(classifier.Answer({.http_status = 200}).error().ok());
}

TEST(ErrorClassifierTest, TimeoutsAreMarkedForQuotas) {
  const ErrorClassifier classifier = ErrorClassifier::AwsKotlin();

  for (const ServiceError& error :
       {ServiceError{.http_status = 400, .code = "RequestTimeout"},
        ServiceError{.http_status = 504}}) {
    const Poll<> answer = classifier.Answer(error);
    EXPECT_EQ(answer.status(), PollStatus::kServerError);
    EXPECT_EQ(answer.error().code(), absl::StatusCode::kDeadlineExceeded);
  }
  EXPECT_EQ(classifier.Answer({.http_status = 500}).error().code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(classifier.Answer({.type = ServiceError::Type::kConnection})
                .error()
                .code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace waiter::error_classifier_test
