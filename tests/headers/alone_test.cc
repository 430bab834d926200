// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The libraries of this test are one file for each public header, with this
// header as its only include (tools/public_headers.bzl). It passes when they
// compile.

int main() { return 0; }
