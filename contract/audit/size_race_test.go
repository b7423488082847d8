//go:build race

package audit_test

// flipStride: see size_test.go. Watched for races, each bit takes ten times as long.
const flipStride = 601
