package redact_test

import (
	"io"
	"strings"
	"testing"

	"github.com/interlude-go/interlude/engine/redact"
)

// benchSecrets are those of a usual agent: an API key and a token.
var benchSecrets = []string{"sk-ant-REDACTED", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}

// BenchmarkStream is the cost per byte of a stream without secrets.
func BenchmarkStream(b *testing.B) {
	r, err := redact.New(benchSecrets...)
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat(`{"type":"message","text":"Reading the file /work/main.go, 1042 bytes; SHA 6d5e899c3b1f5a"}`+
		"\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = io.Copy(io.Discard, struct{ io.Reader }{r.Reader(strings.NewReader(text))}) // nothing fails
	}
}

// BenchmarkNew is the cost of a turn's Redactor, including a private key of 1.7 KB.
func BenchmarkNew(b *testing.B) {
	pem := "-----BEGIN PRIVATE KEY-----\n" +
		strings.Repeat("MIIEvQIBADANBgkq/hkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n", 26) +
		"-----END PRIVATE KEY-----\n"
	for b.Loop() {
		if _, err := redact.New(append(benchSecrets, pem)...); err != nil {
			b.Fatal(err)
		}
	}
}
