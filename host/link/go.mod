module github.com/interlude-go/interlude/host/link

go 1.25.0

require (
	github.com/interlude-go/interlude v0.1.0
	github.com/interlude-go/interlude/host/render v0.1.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/alecthomas/chroma/v2 v2.27.0 // indirect
	github.com/aymanbagabas/go-udiff v0.4.1 // indirect
	github.com/dlclark/regexp2/v2 v2.2.1 // indirect
	github.com/interlude-go/interlude/host/front v0.1.0
	github.com/qmuntal/stateless v1.7.2 // indirect
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1 // indirect
	github.com/yuin/goldmark v1.8.7 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace (
	github.com/interlude-go/interlude => ../..
	github.com/interlude-go/interlude/host/render => ../render
)

replace github.com/interlude-go/interlude/host/front => ../front
