# frozen_string_literal: true

require_relative "../contestants"
require_relative "../runner/bundle"
require_relative "../runner/job_process"
require_relative "../statistics"
require_relative "cluster"

module Tiercel
  module Lab
    module Capabilities
      # One store, asked by two processes with its own bundle.
      class Examination
        COLUMNS = ["serializes", "compression", "local store", "cross process", "node local", "remote", "cluster",
                   "limited by"].freeze

        # @param text [String] of the contestant
        # @param pool [Runner::ServerPool]
        # @param scratch [Runner::Scratch]
        # @param requires [Array<String>]
        # @param blocks [Integer] of reads with and without the request-local cache
        # @param seed [Integer]
        def initialize(text, pool:, scratch:, requires:, blocks:, seed:)
          @contestant = Contestants.parse(text)
          @pool = pool
          @scratch = scratch
          @requires = requires
          @blocks = blocks
          @seed = seed
        end

        # @return [Hash{String => Object}] "store", and "marks" by column, or "reason"
        def to_h
          { "store" => @contestant.name }.merge(examine)
        rescue Error => e
          { "store" => @contestant.name, "reason" => e.message }
        ensure
          [@one, @other].compact.each(&:stop)
        end

        private

        def examine
          bundle = Runner::Bundle.new(@contestant.bundle).tap(&:install)
          @one, @other = Array.new(2) do
            Runner::JobProcess.new("capabilities/probe", bundle:, requires: @requires).start
          end
          reason = [@one, @other].filter_map { |job| open(job)["reason"] }.first
          return { "reason" => reason } if reason
          marks = ask
          cost = local_cost
          [@one, @other].each { |job| job.call("close") }
          { "marks" => marks, "local" => cost }
        end

        def open(job)
          job.call("open", text: @contestant.text, servers: @pool.facts(@contestant.servers), folders: @scratch.folders,
                           label: "capabilities-#{Process.pid}-#{@contestant.name.gsub(/\W+/, "-")}")
        end

        # One after the other: each leaves the store as the next may find it.
        def ask
          shared = shared?
          remote = @one.call("remote")
          { "serializes" => @one.call("serializes"), "compression" => @one.call("compression"),
            "local store" => local_store(shared), "cross process" => mark(shared),
            "node local" => node_local(shared, remote), "remote" => remote,
            "cluster" => Cluster.new(@contestant, pool: @pool, requires: @requires).mark,
            "limited by" => @one.call("limited_by") }
        end

        def shared?
          @one.call("write", name: "shared", value: "one")
          @other.call("read", name: "shared") == "one"
        end

        def mark(yes, note = nil) = { "mark" => yes ? "yes" : "no", "note" => note }

        # Inside of a request's cache, what another process writes is not seen until it ends.
        def local_store(shared)
          @one.call("write", name: "shared", value: "one")
          first = @one.call("local_begin")
          @other.call("write", name: "shared", value: "two")
          second = @one.call("local_end")
          return mark(false) unless first == "one"
          return mark(second == "one") if shared
          { "mark" => "partly", "note" => "there is one, and nobody else who could change anything" }
        end

        def node_local(shared, remote)
          return mark(false, "each process has its own") unless shared
          mark(true, ("with a server on the node" if remote["mark"] == "yes"))
        end

        def local_cost
          figures = @one.call("local_cost", blocks: @blocks)
          figures.transform_values { |us| Statistics::MedianInterval.of([us]).to_h.transform_keys(&:to_s) }
        end
      end
    end
  end
end
