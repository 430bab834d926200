// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Passes if its libraries compile: they have one file for each public header,
// with this header as its only include (tools/public_headers.bzl).

int main() { return 0; }
