package engine

import (
	"errors"
	"io"
	"net"
	"regexp"
	"syscall"
)

// PassingError reports whether an error is transient: a rate limit, an overloaded or unavailable
// model, a broken connection, a shortage of files or memory, a failed read. It checks the types of
// Go's network errors, system error numbers, and PassingText. Engines put it into
// Failure.Transient.
func PassingError(err error) bool {
	if err == nil {
		return false
	}
	var network net.Error
	if errors.As(err, &network) && network.Timeout() || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	for _, passes := range passingErrnos {
		if errors.Is(err, passes) {
			return true
		}
	}
	return PassingText(err.Error())
}

var passingErrnos = []error{
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT,
	syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, // too many files or processes, too little memory
	syscall.EIO, syscall.ESTALE, // a disk or a network file system
}

// PassingText reports whether an agent's error text describes a transient failure. It knows the
// wording of common providers and agents; testdata/passing.txt has examples. A false positive costs
// some retries, a false negative fails the run.
func PassingText(text string) bool {
	return passes.MatchString(text) && !stays.MatchString(text)
}

var (
	passes = regexp.MustCompile(`(?i)` +
		// HTTP: a status next to a confirming word
		`\b(?:http|status|code|error)\b[^a-z0-9]{0,12}(?:code[^a-z0-9]{0,4})?(?:429|50[0234]|529)\b` +
		`|\b(?:429|50[0234]|529)\b[^a-z0-9]{0,4}(?:too many|internal server|bad gateway|service unavail|gateway time|overload)` +
		`|too many requests|rate.?limit|overloaded|request was throttled|server is busy` +
		`|resource_exhausted|service (?:is )?(?:temporarily |currently )?unavailable|bad gateway|gateway time-?out` +
		`|status\W{1,6}unavailable\b` +
		// the network
		`|connection (?:was )?(?:reset|refused|closed|aborted|error)|econn(?:reset|refused|aborted)|etimedout|eai_again` +
		`|socket hang up|fetch failed|network (?:error|is unreachable)|i/o timeout|tls handshake timeout|unexpected eof` +
		`|stream disconnected|request timed? ?out|connection timed out`)
	// stays matches failures that need a repair, or last for days.
	stays = regexp.MustCompile(`(?i)insufficient_quota|exceeded your current quota|billing|credit balance|usage limit` +
		`|per day|daily limit`)
)
