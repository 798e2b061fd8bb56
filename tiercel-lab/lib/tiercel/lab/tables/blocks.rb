# frozen_string_literal: true

require_relative "../report"

module Tiercel
  module Lab
    module Tables
      # Sentences about the blocks of a cell, for {View}.
      module Blocks
        # The number of blocks that fit into a line of a terminal.
        SHOWN = 84

        # A figure for each block, for {Report::Table#raw}. Each includes the block's own garbage collection.
        #
        # @param cell [Hash] measured
        # @return [Array<Float>] microseconds a call
        def block_us(cell)
          used = cell["slices"].reject { |process,| cell["aside"]&.include?(process) }
          used.group_by { |process, block,| [process, block] }.values.map do |slices|
            ns = slices.sum { |slice| cell["clock"] == "cpu" ? slice[6] + slice[9].to_i : slice[4] }
            ns.fdiv(slices.sum { |slice| slice[3] }) / 1e3
          end
        end

        # @return [String, nil] the blocks that part the mean from the median
        def slow_words(cell)
          slow = cell.dig("summary", "slow") or return
          "The mean is #{mean_ratio(cell)}: #{slow["blocks"]} of #{slow["of"]} blocks are slow, by " \
            "#{Report::Format.with_unit(slow["ns"] / 1e6, "ms")} each, about once in " \
            "#{Report::Format.number(slow["calls"].round(-2), digits: 0)} calls."
        end

        # Shows the blocks of cells whose mean and median disagree, in order of time: a line for terminals, and a chart.
        #
        # @param section [Report::Document::Section]
        # @param shown [Array<Hash>] cells of one comparison
        def add_block_times(section, title, shown)
          baseline = shown.find { |cell| baseline?(cell) }
          shown.select { |cell| cell.dig("summary", "slow") }.each do |cell|
            times = [cell, baseline].to_h { |one| [name(one), block_us(one)] }
            times.each { |name, blocks| section.text(block_line(name, blocks)) }
            section.add(block_chart("#{title}, blocks of #{name(cell)}", times))
          end
        end

        private

        def block_line(name, blocks)
          span = blocks.minmax.map { |figure| Report::Format.with_unit(figure, "us") }.join(" to ")
          "Blocks of #{name}, #{span}: #{Report::Format.bars(blocks).first(SHOWN).join}"
        end

        def block_chart(title, times)
          series = times.transform_values { |blocks| blocks.each_with_index.map { |us, at| [at + 1, us] } }
          line_chart(title, series, x: "block, in order of time", y: "us a call")
        end
      end
    end
  end
end
