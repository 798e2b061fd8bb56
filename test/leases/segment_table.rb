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
    @directory = Dir.mktmpdir("tiercel-leases-")
    @backend = Tiercel.new("shared:#{@directory}/s", size: "4MB").backend
    @leases = @backend.build_leases(Through.new)
  end

  def teardown
    @backend.close
    FileUtils.rm_rf(@directory)
  end

  private

  def take(key, ttl: 10.0, version: nil) = @leases.take(@leases.own(key, ttl, version)) { |bytes| bytes }

  def monotonic = Tiercel::Clock.monotonic

  def seconds
    began = monotonic
    yield
    monotonic - began
  end
end
