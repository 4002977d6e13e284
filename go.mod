module staleproof

go 1.26.0
