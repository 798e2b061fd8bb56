# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Boot
        # Shows CPU time, memory and files of each store, with ratios to the baseline.
        class View < Tables::View
          quick "Quick: fewer stores and processes."

          # All processes that booted one store.
          Boots = Struct.new(:store, :rows) do
            def measured = rows.select { |row| Engine::Outcome.measured?(row) }
            def failed = measured.empty? ? rows.first : nil
            def files = Report::Cell.count(measured.map { |row| row["files"] }.max)
          end
          COLUMNS = { "store" => :store, "CPU time" => [->(boots) { median(boots, "cpu_ms") }, "ms"],
                      "by #{Design::BASELINE}'s" => [->(boots) { ratio(boots, "cpu_ms") }, "x"],
                      "memory" => [->(boots) { median(boots, "bytes", MEGABYTE) }, "MB"],
                      "by #{Design::BASELINE}'s " => [->(boots) { ratio(boots, "bytes") }, "x"],
                      "files" => :files }.freeze
          MEGABYTE = 1024.0 * 1024
          WORDS = "From `lookup_store` to the first read, in a fresh process that has loaded `active_support/cache`. " \
                  "Memory: growth of its resident set. Files: those that it required for the store."

          def title = "What a store costs at boot"

          def sentence
            ours, baseline = %w[tiercel:shared: redis_cache_store].map { |store| measured.find { _1.store == store } }
            return "Nothing could be measured." if measured.empty?
            return "The first read of a process takes #{spent(measured.first)} of CPU time." unless ours && baseline
            "The first read of a process takes #{spent(ours)} of CPU time with shared:, and #{spent(baseline)} with " \
              "#{Design::BASELINE}."
          end

          def fill(document)
            return if boots.empty?
            document.section("Boot") do |section|
              section.text(WORDS).add(columns_table("Boot: until the first read", boots, COLUMNS, labels: 1))
            end
          end

          private

          def boots
            @boots ||= rows("boot").group_by { |row| row["store"] }.map { |store, group| Boots.new(store, group) }
                                   .sort_by { |one| Design::STORES.keys.index(one.store) }
          end

          def measured = boots.reject(&:failed)

          def spent(boots) = Report::Format.with_unit(median(boots, "cpu_ms").estimate, "ms")

          def median(boots, figure, unit = 1.0) = median_of_processes(boots.measured.map { |row| row[figure] / unit })

          # A round in which the memory did not grow has no ratio.
          def ratio(boots, figure)
            return "baseline" if boots.store == Design::BASELINE
            baseline = measured.find { |one| one.store == Design::BASELINE } or return
            Engine::Paired.ratio(by_round(boots, figure), by_round(baseline, figure))
          end

          def by_round(boots, figure)
            boots.measured.select { |row| row[figure].positive? }
                 .to_h { |row| [row["round"], { 0 => row[figure].to_f }] }
          end
        end
      end
    end
  end
end
