# frozen_string_literal: true

# Gems for the tests and the lab, with every Rails version.
gem "ferrum", ">= 0.15"
gem "minitest", "~> 5.25"
gem "puma", ">= 6"
gem "rake", ">= 13"
gem "rake-compiler", ">= 1.2"
gem "rexml", ">= 3.2"
gem "vernier", ">= 1.8"

gem "brotli", ">= 0.9"
gem "lz4-ruby", ">= 0.3"
gem "lz4_flex", ">= 1.0"
gem "msgpack", ">= 1.7", "< 2"
gem "oj", ">= 3.16"
gem "paquito", ">= 1.0"
gem "snappy", ">= 0.4"
gem "zstd-ruby", ">= 2.0"

gem "connection_pool", ">= 2.4.1", "< 4"
gem "dalli", ">= 5.0", "< 6"
gem "hiredis-client", ">= 0.28"
gem "redis", ">= 5.0", "< 6"
gem "redis-client", ">= 0.28"
gem "redis-cluster-client", ">= 0.17"
gem "sqlite3", ">= 2.1", "< 3"

gem "rack", ">= 3"
