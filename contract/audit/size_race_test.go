//go:build race

package audit_test

// flipStride is explained in size_test.go. Under the race detector, each bit takes ten times as
// long.
const flipStride = 601
