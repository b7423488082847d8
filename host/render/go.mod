module github.com/interlude-go/interlude/host/render

go 1.25.0

require (
	github.com/alecthomas/chroma/v2 v2.27.0
	github.com/aymanbagabas/go-udiff v0.4.1
	github.com/stretchr/testify v1.12.1
	github.com/yuin/goldmark v1.8.7
	pgregory.net/rapid v1.3.0
)

require (
	github.com/dlclark/regexp2/v2 v2.2.1 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
)

replace github.com/interlude-go/interlude => ../..
