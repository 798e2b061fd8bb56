# frozen_string_literal: true

require "tiercel/lab/load/blocks"
require "tiercel/lab/tables/app/table"

module Tiercel
  module Lab
    module Tables
      module Musts
        # Compares the CPU time of a page of the Rails application on `shared:` and on MemoryStore. After the warm-up
        # each worker finds every fragment in either store, so both hit ratios are 1.
        class Pages
          STORES = ["memory_store", "tiercel:shared:"].freeze
          # Number of fresh applications; each serves several blocks of requests.
          PROTOCOL = App::Table.protocol(false).with(processes: 8)
          REQUESTS = App::Table::REQUESTS
          SEED = 1
          # The CPU time of a block's requests in microseconds each: the application's and the cache server's CPU time.
          CPU_US = lambda do |(_, application_ns, server_ns), requests|
            (application_ns + server_ns).fdiv(requests.size) / 1e3
          end
          # Ignores the trial's progress.
          SILENCE = Class.new { %i[advance say].each { |name| define_method(name) { |*| nil } } }.new

          # @param path [String] one of {App::Design::PAGES}
          # @param at_most [Float] target: CPU time divided by MemoryStore's
          def initialize(path, at_most: 1.0)
            @path = path
            @at_most = at_most
          end

          # @return [Array(Symbol, String)] state and figures
          # @raise [CannotRun] if an application does not start, or if its page differs from the other store's
          def judge
            trial = App::Trial.new(STORES, pages: [@path], protocol: PROTOCOL, requests: REQUESTS, seed: SEED)
            trial.run(SILENCE)
            judged(trial.rows)
          end

          # @param rows [Array<Hash>] see {App::Trial}
          # @return [Array(Symbol, String)] state and figures
          def judged(rows)
            memory, shared, again = [*STORES, "#{STORES.first}#{App::Trial::AGAIN}"].map { |store| blocks(rows, store) }
            ratio = shared.ratio_to(memory, &CPU_US)
            floor = again.noise_to(memory, &CPU_US)
            words = format("CPU time %.3f [%.3f-%.3f] of MemoryStore's; MemoryStore differs from itself by %.1f %%",
                           *ratio.to_h.values, floor * 100)
            return [:fails, words] if ratio.low > @at_most
            [ratio.high <= @at_most ? :holds : :undecided, words]
          end

          private

          def blocks(rows, store)
            row = rows.find { |one| one["store"] == store }
            raise CannotRun, "#{store}: #{Engine::Outcome.words(row)}" unless Engine::Outcome.measured?(row)
            Load::Blocks.new(row, facts: 3)
          end
        end
      end
    end
  end
end
