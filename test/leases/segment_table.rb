# frozen_string_literal: true

require "tiercel"

# The lease table of a new segment for each test.
module SegmentTable
  # A guard that passes every call through.
  class Through
    def call(_method, _key = nil, returning: nil) = yield # rubocop:disable Lint/UnusedMethodArgument
    def too_large(_key, _bytesize) = :too_large
  end

  def setup
    @backend = Tiercel.new("shared:#{dir}/s", size: "4MB").backend
    @leases = @backend.build_leases(Through.new)
  end

  def teardown
    @backend.close
  end

  private

  def take(key, ttl: 10.0, version: nil) = @leases.acquire(@leases.own(key, ttl, version)) { |bytes| bytes }

  def monotonic = Tiercel::Clock.monotonic
end
