# frozen_string_literal: true

workers Integer(ENV.fetch("WEB_CONCURRENCY", "2"))
threads_count = Integer(ENV.fetch("RAILS_MAX_THREADS", "3"))
threads threads_count, threads_count
preload_app!
environment ENV.fetch("RAILS_ENV", "production")
bind ENV.fetch("BIND", "tcp://127.0.0.1:3000")
