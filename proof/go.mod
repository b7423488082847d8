module github.com/interlude-go/interlude/proof

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	github.com/interlude-go/interlude v0.1.0
	github.com/interlude-go/interlude/host/front v0.1.0
	github.com/interlude-go/interlude/host/link v0.1.0
	github.com/interlude-go/interlude/host/mcp v0.1.0
	github.com/interlude-go/interlude/host/notify v0.1.0
	github.com/interlude-go/interlude/host/slack v0.1.0
	github.com/interlude-go/interlude/host/ui v0.1.0
	github.com/interlude-go/interlude/host/web v0.1.0
	github.com/interlude-go/interlude/store/postgres v0.1.0
	github.com/interlude-go/interlude/store/sqlite v0.1.0
	github.com/jackc/pgx/v5 v5.12.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/mod v0.38.0
	golang.org/x/sync v0.22.0
	golang.org/x/tools v0.48.0
	modernc.org/libc v1.72.0
	modernc.org/sqlite v1.50.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/alecthomas/chroma/v2 v2.27.0 // indirect
	github.com/aymanbagabas/go-udiff v0.4.1 // indirect
	github.com/danielgtaylor/huma/v2 v2.37.2 // indirect
	github.com/dlclark/regexp2/v2 v2.2.1 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/interlude-go/interlude/host/render v0.1.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/modelcontextprotocol/go-sdk v1.8.0 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/qmuntal/stateless v1.7.2 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/slack-go/slack v0.29.0 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	github.com/yuin/goldmark v1.8.7 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/net v0.57.0 // indirect
	golang.org/x/oauth2 v0.35.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.11.0 // indirect
)

replace (
	github.com/interlude-go/interlude => ..
	github.com/interlude-go/interlude/host/front => ../host/front
	github.com/interlude-go/interlude/host/link => ../host/link
	github.com/interlude-go/interlude/host/mcp => ../host/mcp
	github.com/interlude-go/interlude/host/notify => ../host/notify
	github.com/interlude-go/interlude/host/render => ../host/render
	github.com/interlude-go/interlude/host/slack => ../host/slack
	github.com/interlude-go/interlude/host/ui => ../host/ui
	github.com/interlude-go/interlude/host/web => ../host/web
	github.com/interlude-go/interlude/store/postgres => ../store/postgres
	github.com/interlude-go/interlude/store/sqlite => ../store/sqlite
)
