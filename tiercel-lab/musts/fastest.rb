# frozen_string_literal: true

require "tiercel/lab/tables/view"

module Tiercel
  module Lab
    module Tables
      module Musts
        # Whether one store is the fastest in every cell of a comparison, apart from exceptions.
        class Fastest
          # @param store [String] name of the store
          # @param except [Array<Array(String, String)>] pairs of value and operation
          def initialize(store, except: [])
            @store = store
            @except = except
          end

          # @param results [Hash] results of a run of `compare`
          # @return [Array(Symbol, String)] state, and the cells in which the store is not the fastest
          def judge(results)
            return [:undecided, "the newest run of compare was not `bin/lab --quick`"] unless default_quick?(results)
            leaders = leaders(results)
            lost, open = leaders.reject { |_cell, leader| fastest?(leader) }
                                .partition { |_cell, leader| leader.ahead.none? { |cell| mine?(cell) } }
            words = [*lost, *open].map { |cell, leader| "#{cell.join(" ")}: #{leader.words { |one| name(one) }}" }
            count = "#{@store} is the fastest in #{leaders.size - words.size} of #{leaders.size} cells"
            [state(lost, open), [count, *words].join("; ")]
          end

          private

          def default_quick?(results)
            results["run"]["protocol"]["name"] == "quick" &&
              results["run"]["arguments"].none? { |word| word.match?(/\A--(?:store|value|op|data|url|baseline)\b/) }
          end

          def leaders(results)
            view = Tables::View.new(results, command: "")
            groups = view.cells.group_by { |cell| cell.values_at("value", "operation") }.except(*@except)
            groups.transform_values { |cells| view.leader(cells) }.select { |_cell, leader| leader.first }
          end

          def state(lost, open)
            return :fails if lost.any?
            open.any? ? :undecided : :holds
          end

          def fastest?(leader) = leader.clear? && mine?(leader.first)
          def mine?(cell) = name(cell) == @store
          def name(cell) = cell["contestant"]["name"]
        end
      end
    end
  end
end
