module github.com/Mellanox/rdmamap

go 1.26.0
