package store

// FirstForm is what Decode reads of a record.
var FirstForm = firstForm

// ScanRun is how Decode reads what Encode wrote; false when it leaves the record to encoding/json.
func ScanRun(body []byte) (r Run, ok bool) {
	ok = scanRun(body, &r)
	return r, ok
}
