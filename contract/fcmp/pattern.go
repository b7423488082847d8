package fcmp

// The patterns of the event schemas and of the envelope. Every event is checked against some, so
// each has a hand-written loop; the generator rejects other patterns.
const (
	patternRunID   = `^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`
	patternCode    = `^[A-Z][A-Z0-9_]{0,127}$`
	patternVersion = `^[0-9]+\.[0-9]+\.[0-9]+$`
	patternDigest  = `^[0-9a-f]{64}$`
)

func isRunID(s string) bool {
	if s == "" || len(s) > 128 || !isAlphanumeric(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if c := s[i]; !isAlphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func isCode(s string) bool {
	if s == "" || len(s) > 128 || !isUpper(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if c := s[i]; !isUpper(c) && !isDigit(c) && c != '_' {
			return false
		}
	}
	return true
}

func isVersion(s string) bool {
	groups, digits := 1, 0
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digits++
		case c == '.' && digits > 0:
			groups, digits = groups+1, 0
		default:
			return false
		}
	}
	return groups == 3 && digits > 0
}

// isDigest: 64 hexadecimal digits in small letters.
func isDigest(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isDigit(c) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}

func isAlphanumeric(c byte) bool { return isUpper(c) || 'a' <= c && c <= 'z' || isDigit(c) }
func isUpper(c byte) bool        { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool        { return '0' <= c && c <= '9' }

// isUTCTime reports whether s is an RFC 3339 date-time as events write it: in UTC, with a capital T
// and Z, a fraction of any length, and no leap second. The validator accepts other forms, which are
// never written here.
func isUTCTime(s string) bool {
	const form = "0000-00-00T00:00:00"
	if len(s) <= len(form) {
		return false
	}
	for i := range len(form) {
		if form[i] != s[i] && (form[i] != '0' || !isDigit(s[i])) {
			return false
		}
	}
	if two(s, 11) > 23 || two(s, 14) > 59 || two(s, 17) > 59 || !isDay(two(s, 0)*100+two(s, 2), two(s, 5), two(s, 8)) {
		return false
	}
	rest := s[len(form):]
	if rest[0] == '.' {
		digits := 1
		for digits < len(rest) && isDigit(rest[digits]) {
			digits++
		}
		if digits == 1 {
			return false
		}
		rest = rest[digits:]
	}
	return rest == "Z"
}

// two reads the two digits at i.
func two(s string, i int) int { return int(s[i]-'0')*10 + int(s[i+1]-'0') }

func isDay(year, month, day int) bool {
	switch {
	case month < 1 || month > 12 || day < 1:
		return false
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return day <= 29
	case month == 2:
		return day <= 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return day <= 30
	default:
		return day <= 31
	}
}
