# frozen_string_literal: true

require_relative "../command"
require_relative "../simulator"
require_relative "../terminal/report_table"

module Tiercel
  module Lab
    module Commands
      # Eviction policies and stores on named workloads.
      class HitRatio < Command
        called "hit-ratio", "Replays workloads through eviction policies, and through stores given by their URL."
        example "hit-ratio", "hit-ratio shared: memory: --quick",
                "hit-ratio sqlite: --workload zipf-1.0,scans --share 0.05",
                "hit-ratio --policy lru,s3_fifo --seeds 1,2,3,4,5"

        # Length of the traces and seeds of --quick.
        QUICK = { requests: 200_000, seeds: %w[1], within: 20 }.freeze

        def options(parser)
          workloads, policies = Simulator::Workloads.names.join(", "), Simulator::POLICIES.names.join(", ")
          parser.on("--workload A,B", Array, "of #{workloads}") { |names| @workloads = names }
          parser.on("--policy A,B", Array, "of #{policies}, or none") { |names| @policies = names - ["none"] }
          parser.on("--share SHARE", Float, "capacity by the size of all values (0.1)") { |share| @share = share }
          parser.on("--seeds A,B", Array, "names of seeds (1,2,3)") { |seeds| @seeds = seeds }
          parser.on("--requests N", Integer, "length of the traces") { |count| @requests = count }
          parser.on("--within SECONDS", Float, "for one store and trace (120)") { |seconds| @within = seconds }
        end

        def accept(rest) = @stores = rest

        def run
          return print_plan if settings.plan
          table = comparison.table(command: command_line("hit-ratio", *@arguments)) { |label| progress(label) }
          clear
          session.finish("hit_ratio" => rows(table))
          out.puts Terminal::ReportTable.new(table).to_s(style)
          ExitCodes::OK
        end

        private

        def comparison
          @comparison ||= Simulator::Comparison.new(**choices)
        rescue ConfigurationError, ArgumentError => e
          raise UsageError, e.message
        end

        def choices
          given = { workloads: @workloads, policies: @policies, urls: @stores, share: @share, seeds: @seeds,
                    requests: @requests, within: @within }
          (settings.quick ? QUICK : {}).merge(given.compact)
        end

        def print_plan
          out.puts comparison.plan
          ExitCodes::OK
        end

        def rows(table)
          table.rows.map { |row| table.header.zip(row.map(&:data)).to_h }
        end

        def progress(label) = (err.print("\r\e[K#{label}") if err.tty?)

        def clear = (err.print("\r\e[K") if err.tty?)
      end

      add HitRatio
    end
  end
end
