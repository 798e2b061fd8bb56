# frozen_string_literal: true

# `tiercel-lab gate` measures one call of a block, with its objects, SQL queries and time. `expect:` is the expected
# result. `setup:` returns an argument for the block. Use `clock: :wall` for code that waits for a database or a cache.
ENV["RAILS_ENV"] ||= "test"
require_relative "../config/environment"
Rails.logger.level = :fatal

session = -> { ActionDispatch::Integration::Session.new(Rails.application) }

Tiercel::Lab.benchmark("GET /up", setup: session, expect: 200, clock: :wall) { |visitor| visitor.get("/up") }
