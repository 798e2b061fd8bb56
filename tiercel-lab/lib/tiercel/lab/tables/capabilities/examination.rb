# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Capabilities
        # Tests stores with two processes each, which have the store's own bundle. A row has "marks" and "local", or a
        # "reason".
        class Examination < Engine::Trial
          # The approximate time to test one store.
          SECONDS = 3.0

          # @param stores [Array<String>]
          # @param blocks [Integer] number of blocks of reads with and without the request-local cache
          def initialize(stores, blocks:, **)
            super(**)
            @stores = stores
            @blocks = blocks
          end

          private

          def measure
            @stores.each do |text|
              contestant = Contestants.parse(text)
              rows << { "store" => contestant.name }.merge(examine(contestant))
              @progress.advance(SECONDS, text)
            end
          end

          def examine(contestant)
            Engine::Outcome.of do
              jobs = Array.new(2) { job("tables/capabilities/probe", bundle: contestant.bundle) }
              reason = jobs.filter_map { |job| open(job, contestant)["reason"] }.first
              raise CannotRun, reason if reason
              found = { marks: ask(contestant, *jobs), local: local_cost(jobs.first) }
              found.tap { jobs.each { |job| job.call("close") } }
            ensure
              jobs&.each(&:stop)
            end
          end

          def open(job, contestant)
            job.call("open", text: contestant.text, servers: @pool.facts(contestant.servers), folders: @scratch.folders,
                             label: "capabilities-#{Process.pid}-#{contestant.name.gsub(/\W+/, "-")}")
          end

          # The tests run one after the other, because each changes the store.
          def ask(contestant, one, other)
            shared = shared?(one, other)
            remote = one.call("remote")
            { "serializes" => one.call("serializes"), "compression" => one.call("compression"),
              "local store" => local_store(one, other, shared), "cross process" => mark(shared),
              "node local" => node_local(shared, remote), "remote" => remote,
              "cluster" => Cluster.new(contestant, pool: @pool, folders: @scratch.folders, requires: @requires).mark,
              "limited by" => one.call("limited_by") }
          end

          def shared?(one, other)
            one.call("write", name: "shared", value: "one")
            other.call("read", name: "shared") == "one"
          end

          def mark(yes, note = nil) = { "mark" => yes ? "yes" : "no", "note" => note }

          # Within a request-local cache, a process does not see the writes of another process.
          def local_store(one, other, shared)
            one.call("write", name: "shared", value: "one")
            first = one.call("local_begin")
            other.call("write", name: "shared", value: "two")
            second = one.call("local_end")
            return mark(false) unless first == "one"
            return mark(second == "one") if shared
            { "mark" => "partly", "note" => "there is one, and nobody else who could change anything" }
          end

          def node_local(shared, remote)
            return mark(false, "each process has its own") unless shared
            mark(true, ("with a server on the node" if remote["mark"] == "yes"))
          end

          def local_cost(job)
            job.call("local_cost", blocks: @blocks).transform_values { |us| Statistics::MedianInterval.of([us]).record }
          end
        end
      end
    end
  end
end
