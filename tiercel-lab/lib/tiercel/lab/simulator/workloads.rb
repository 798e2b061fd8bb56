# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      # The named workloads. All values have 1,000 bytes, unless the workload says otherwise.
      module Workloads
        SIZES = 100..65_536
        TTLS = 60.0..21_600.0

        ALL = [
          { name: "zipf-0.8", s: 0.8 },
          { name: "zipf-1.0", s: 1.0 },
          { name: "zipf-1.2", s: 1.2 },
          { name: "shifting", s: 1.0, shift_every: 100_000, shift_by: 0.1 },
          { name: "scans", s: 1.0, scans: 0.2, scan_keys: 0.01 },
          { name: "sizes", s: 1.0, value_bytes: SIZES, keys: 20_000 },
          { name: "overwrites-10", s: 1.0, value_bytes: SIZES, keys: 20_000, overwrites: 0.1, ttl: TTLS },
          { name: "overwrites-30", s: 1.0, value_bytes: SIZES, keys: 20_000, overwrites: 0.3, ttl: TTLS },
        ].map { |options| Workload.new(**options) }.freeze

        # @return [Array<String>] in the order of the tables
        def self.names = ALL.map(&:name)

        # @param name [String]
        # @return [Workload]
        # @raise [ArgumentError] if there is none
        def self.fetch(name)
          ALL.find { |workload| workload.name == name.to_s } or
            raise ArgumentError, "workload #{name.inspect}: expected one of #{names.join(", ")}"
        end
      end
    end
  end
end
