# Masters to work with, and what they are made of. Included by the Makefile.

.PHONY: cluster-up
cluster-up: ## five masters in containers on 127.0.0.1:7001 to 7005, waits until they are healthy
	@scripts/cluster.sh up

.PHONY: cluster-down
cluster-down: ## removes them
	@scripts/cluster.sh down

.PHONY: image
image: ## the image that containers are made of, built where none can be pulled; prints its name
	@scripts/redis-image.sh

.PHONY: redis-server
redis-server: ## a redis-server that needs no installation; prints its path
	@scripts/redis-server.sh
