# frozen_string_literal: true

require_relative "../../report"

module Tiercel
  module Lab
    module Tables
      module Latency
        # The article's own figures, for comparison: facts of 2015, not of this machine.
        #
        # Source: Adam N. England, "Rails Benchmarking - Cache Store Latency", 18 September 2015.
        module Article
          HEADER = ["machine", "configuration", "iterations", "real", "% of local Redis"].freeze
          EC2 = "EC2 m3.medium, us-east"
          ROWS = [["MacBook Pro of 2014", "memcached, local", 1_000, 0.244702, nil],
                  ["MacBook Pro of 2014", "MemCachier, from Kansas City to us-east", 1_000, 114.471950, nil],
                  [EC2, "memcached, local", 1_000, 0.419922, nil],
                  [EC2, "MemCachier", 1_000, 2.846208, nil],
                  [EC2, "ElastiCache memcached, cache.t2.micro", 1_000, 3.874526, nil],
                  [EC2, "Redis on Compose", 1_000, 1.862227, nil],
                  [EC2, "Redis, local", 100_000, 41.643664, 100],
                  [EC2, "memcached, local", 100_000, 42.674231, 102],
                  [EC2, "Redis on Compose", 100_000, 200.054559, 480],
                  [EC2, "ElastiCache memcached, cache.t2.micro", 100_000, 387.568663, 930]].freeze

          # @return [Report::Table]
          def self.table
            note = "Reference: other machines, other versions, no intervals."
            Report::Table.new("Latency: as published in 2015", header: HEADER, note:).tap do |table|
              ROWS.each do |machine, name, count, seconds, percent|
                table.row(machine, name, count, Report::Cell.number(seconds, unit: "s"), percent ? "#{percent} %" : "")
              end
            end
          end
        end
      end
    end
  end
end
