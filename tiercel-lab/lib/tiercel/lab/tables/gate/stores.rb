# frozen_string_literal: true

require "uri"
require_relative "benchmarks"

module Tiercel
  module Lab
    # Contestants of gates that are no stores. `benchmark:NAME?clock=cpu&servers=redis` is a benchmark of the user; its
    # name is form-encoded, and it finds its servers in the environment variables that their clients read.
    # `reference_work` is a fixed amount of work: histories divide by it, because a faster machine speeds up both.
    Contestants.define("reference_work", kind: :benchmark, internal?: true) do
      def build(_context)
        block = ->(_subject) { (1..40).to_h { |number| [number.to_s, number.to_s * 8] }.sort_by(&:last).first }
        Tables::Gate::Benchmarks::Ready.new(
          Tables::Gate::Benchmark.new(name: "reference work", setup: nil, expect: nil, clock: :cpu, block:), nil
        )
      end

      def tear_down(_subject, _names) = nil
    end

    Contestants.define("benchmark", kind: :benchmark, internal?: true) do
      def medium = facts["clock"] == "wall" ? :loopback : :process

      def servers = facts.fetch("servers", "").split(",").map(&:to_sym)

      def build(context)
        ENV["REDIS_URL"] = context.server(:redis).fetch("url") if servers.include?(:redis)
        ENV["MEMCACHE_SERVERS"] = context.server(:memcached).fetch("address") if servers.include?(:memcached)
        Tables::Gate::Benchmarks.ready(benchmark_name)
      end

      def tear_down(_subject, _names) = nil

      def benchmark_name = URI.decode_www_form_component(place[/\A[^?]*/])

      private

      def facts = URI.decode_www_form(place[/\?(.*)/, 1].to_s).to_h
    end
  end
end
