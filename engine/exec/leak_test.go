package exec_test

import "time"

// grace is short: the suite's deaf processes are to be killed.
const grace = 200 * time.Millisecond
