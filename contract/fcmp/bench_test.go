package fcmp

import "testing"

func BenchmarkEncode(b *testing.B) {
	for _, typ := range eventTypes() {
		p, err := payloadOf(typ, samples()[typ])
		if err != nil {
			b.Fatal(err)
		}
		b.Run(typ, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(header(), p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, typ := range eventTypes() {
		body, err := encode(header(), typ, samples()[typ])
		if err != nil {
			b.Fatal(err)
		}
		b.Run(typ, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTerminal(b *testing.B) {
	data := samples()[TypeStateChanged]
	delete(data, "terminal")
	data["to"] = "waiting_user"
	body, err := encode(header(), TypeStateChanged, data)
	if err != nil {
		b.Fatal(err)
	}
	e, err := Decode(body)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if e.Terminal() {
			b.Fatal("the run goes on")
		}
	}
}
