module github.com/interlude-go/interlude/host/all

go 1.25.0

require (
	github.com/interlude-go/interlude v0.1.0
	github.com/interlude-go/interlude/host/link v0.1.0
	github.com/interlude-go/interlude/host/notify v0.1.0
	github.com/interlude-go/interlude/host/otel v0.1.0
	github.com/interlude-go/interlude/host/signin v0.1.0
	github.com/interlude-go/interlude/host/web v0.1.0
	github.com/stretchr/testify v1.12.1
	go.opentelemetry.io/otel/sdk/metric v1.44.0
	golang.org/x/net v0.50.0
	golang.org/x/sync v0.22.0
	modernc.org/sqlite v1.50.0
)

require (
	github.com/alecthomas/chroma/v2 v2.27.0 // indirect
	github.com/aymanbagabas/go-udiff v0.4.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/coreos/go-oidc/v3 v3.21.0 // indirect
	github.com/danielgtaylor/huma/v2 v2.37.2 // indirect
	github.com/dlclark/regexp2/v2 v2.2.1 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/go-jose/go-jose/v4 v4.1.4 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/interlude-go/interlude/host/front v0.1.0 // indirect
	github.com/interlude-go/interlude/host/render v0.1.0 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/qmuntal/stateless v1.7.2 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1 // indirect
	github.com/yuin/goldmark v1.8.7 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.44.0 // indirect
	go.opentelemetry.io/otel/metric v1.44.0 // indirect
	go.opentelemetry.io/otel/sdk v1.44.0 // indirect
	go.opentelemetry.io/otel/trace v1.44.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/oauth2 v0.36.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	modernc.org/libc v1.72.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.11.0 // indirect
)

replace (
	github.com/interlude-go/interlude => ../..
	github.com/interlude-go/interlude/host/link => ../link
	github.com/interlude-go/interlude/host/notify => ../notify
	github.com/interlude-go/interlude/host/otel => ../otel
	github.com/interlude-go/interlude/host/render => ../render
	github.com/interlude-go/interlude/host/signin => ../signin
	github.com/interlude-go/interlude/host/web => ../web
	github.com/interlude-go/interlude/store/postgres => ../../store/postgres
	github.com/interlude-go/interlude/store/sqlite => ../../store/sqlite
)

replace github.com/interlude-go/interlude/host/front => ../front
