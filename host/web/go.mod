module github.com/interlude-go/interlude/host/web

go 1.25.0

require (
	github.com/danielgtaylor/huma/v2 v2.37.2
	github.com/interlude-go/interlude v0.1.0
	github.com/interlude-go/interlude/host/link v0.1.0
	github.com/interlude-go/interlude/host/render v0.1.0
	github.com/interlude-go/interlude/store/postgres v0.1.0
	github.com/interlude-go/interlude/store/sqlite v0.1.0
	github.com/pb33f/libopenapi v0.36.0
	github.com/pb33f/libopenapi-validator v0.13.4
	github.com/stretchr/testify v1.12.1
	golang.org/x/net v0.50.0
)

require (
	github.com/alecthomas/chroma/v2 v2.27.0 // indirect
	github.com/aymanbagabas/go-udiff v0.4.1 // indirect
	github.com/bahlo/generic-list-go v0.2.0 // indirect
	github.com/basgys/goxml2json v1.1.1-0.20231018121955-e66ee54ceaad // indirect
	github.com/buger/jsonparser v1.1.2 // indirect
	github.com/dlclark/regexp2/v2 v2.2.1 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/go-openapi/jsonpointer v0.22.5 // indirect
	github.com/go-openapi/swag/jsonname v0.25.5 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/interlude-go/interlude/host/front v0.1.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/pgx/v5 v5.12.0 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/pb33f/jsonpath v0.8.2 // indirect
	github.com/pb33f/ordered-map/v2 v2.3.1 // indirect
	github.com/qmuntal/stateless v1.7.2 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.2 // indirect
	github.com/yuin/goldmark v1.8.7 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	go.yaml.in/yaml/v4 v4.0.0-rc.4 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	modernc.org/libc v1.72.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.11.0 // indirect
	modernc.org/sqlite v1.50.0 // indirect
)

replace (
	github.com/interlude-go/interlude => ../..
	github.com/interlude-go/interlude/host/link => ../link
	github.com/interlude-go/interlude/host/render => ../render
	github.com/interlude-go/interlude/store/postgres => ../../store/postgres
	github.com/interlude-go/interlude/store/sqlite => ../../store/sqlite
)

replace github.com/interlude-go/interlude/host/front => ../front
