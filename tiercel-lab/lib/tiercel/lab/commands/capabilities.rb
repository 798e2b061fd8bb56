# frozen_string_literal: true

require_relative "../capabilities/examination"
require_relative "../documents/capabilities"
require_relative "../runner/scratch"
require_relative "../runner/server_pool"
require_relative "../table_command"

module Tiercel
  module Lab
    module Commands
      # The first article's table of stores, each mark found by asking the store.
      class CapabilitiesTable < TableCommand
        called "capabilities",
               "What each store does: serializes, compresses, is shared, remote, clustered; found by asking it."
        example "capabilities", "capabilities --quick", "capabilities --store tiercel:shared: --store memory_store"

        STORES = ["memory_store", "file_store:disk", "mem_cache_store", "redis_cache_store", "solid_cache_store",
                  "solid_cache_store:postgresql", "litecache", "tiercel:memory:", "tiercel:shared:", "tiercel:file:",
                  "tiercel:sqlite:", "tiercel:memcached:", "tiercel:redis:", "tiercel:memory: redis:"].freeze
        # Of one store, roughly.
        SECONDS = 3.0
        BLOCKS = 15
        QUICK_BLOCKS = 7

        def self.document(results, command:) = Documents::Capabilities.new(results, command:).build

        def options(parser)
          parser.on("--store STORE", "repeatable; default: #{STORES.join(", ")}") do |text|
            stores << Contestants.parse(text).text
          end
        end

        def plan_in_words
          "#{chosen.size} stores are asked by two processes each, in about #{(chosen.size * SECONDS).round} s: " \
          "#{chosen.join(", ")}."
        end

        def take(_comparisons)
          session.watch(chosen.size * SECONDS) do |progress|
            pool = Runner::ServerPool.new(pinning: Runner::Pinning.new)
            scratch = Runner::Scratch.new
            rows = []
            chosen.each { |text| rows << examine(text, pool, scratch, progress) }
          ensure
            session.recorder.table("capabilities", rows) if rows&.any?
            @servers = pool&.describe
            pool&.stop
            scratch&.remove
          end
        end

        def facts = { "servers" => @servers || [] }

        private

        def stores = @stores ||= []

        def chosen = stores.empty? ? STORES : stores

        def examine(text, pool, scratch, progress)
          blocks = settings.quick ? QUICK_BLOCKS : BLOCKS
          row = Lab::Capabilities::Examination.new(text, pool:, scratch:, requires: settings.requires, blocks:,
                                                   seed: settings.seed).to_h
          progress.advance(SECONDS, text)
          row
        end
      end

      add CapabilitiesTable
    end
  end
end
