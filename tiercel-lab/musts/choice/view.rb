# frozen_string_literal: true

require "tiercel/lab/tables/view"

module Tiercel
  module Lab
    module Tables
      module Choice
        # Shows each application's first choice beside the best store of the full run.
        class View < Tables::View
          # A first choice is good if it costs at most this multiple of the best store's cost.
          MOST_TIMES = 1.05
          # The target holds for so many applications if so few have another first choice.
          APPLICATIONS = 10
          MOST_BAD = 2

          def title = "The first choice of a quick run, and the best store of a full run"

          def subtitle = "Values and constraints from which no rule was derived; one full run for each kind of values"

          # @return [Symbol] :holds, :fails, or :undecided if something was not measured
          def state
            return :fails if broken.any? || told_apart.any? || applications.size - good.size > MOST_BAD
            complete = applications.size >= APPLICATIONS && rows("choice").size == notes("choice")["asked"]
            complete && twins.all? { |row| row["first"] } ? :holds : :undecided
          end

          def sentence
            return "Nothing could be measured." if rows("choice").empty?
            "The first choice costs at most 5 % more than the best in #{good.size} of #{applications.size} cases and " \
              "breaks a constraint in #{broken.size}; equal stores were told apart in #{told_apart.size} of " \
              "#{twins.size}."
          end

          def fill(document)
            document.section("Applications") do |section|
              section.add(columns_table("Choice: applications", applications, COLUMNS))
              section.add(columns_table("Choice: equal stores", twins, TWINS))
            end
          end

          COLUMNS = {
            "application" => "case", "first choice" => "first",
            "clear" => ->(row) { row["clear"] ? "yes" : "cannot tell" }, "best of all" => "best",
            "cost by the best's" => ->(row) { row["times"] ? Report::Cell.number(row["times"], unit: "x") : "" },
            "breaks" => ->(row) { row["broken"].join("; ") }
          }.freeze

          TWINS = {
            "stores" => "case",
            "told apart" => ->(row) { row["first"] ? (row["clear"] ? "yes" : "no") : "not measured" }
          }.freeze

          private

          def applications = rows("choice").reject { |row| row["twin"] }
          def twins = rows("choice").select { |row| row["twin"] }
          def good = applications.select { |row| row["times"] && row["times"] <= MOST_TIMES }
          def broken = applications.select { |row| row["broken"].any? }
          def told_apart = twins.select { |row| row["clear"] }
        end
      end
    end
  end
end
