# frozen_string_literal: true

require "tiercel"
require "tiercel/registry"

module Tiercel
  module Lab
    # Computes hit ratios of eviction policies, and of real backends with the same requests.
    #
    #   trace  = Simulator::Workloads.fetch("zipf-1.0").trace("1")
    #   policy = Simulator::POLICIES.fetch(:s3_fifo).new(trace.footprint_bytes / 10)
    #   Simulator::Replay.run(trace, policy).hit_ratio # => 0.79...
    #
    # {POLICIES} registers the policy classes; see {Policy} for the methods that a policy implements.
    module Simulator
      POLICIES = Registry.new("policy")

      POLICIES.register(:fifo) { require_relative("simulator/policies/fifo"); Policies::FIFO }
      POLICIES.register(:belady) { require_relative("simulator/policies/belady"); Policies::Belady }
      POLICIES.register(:clock) { require_relative("simulator/policies/clock"); Policies::Clock }
      POLICIES.register(:sieve) { require_relative("simulator/policies/sieve"); Policies::Sieve }
      POLICIES.register(:lru) { require_relative("simulator/policies/lru"); Policies::LRU }
      POLICIES.register(:s3_fifo) { require_relative("simulator/policies/s3_fifo"); Policies::S3FIFO }
      POLICIES.register(:s3_fifo_2) { require_relative("simulator/policies/s3_fifo"); Policies::S3FIFOAtTwo }
    end
  end
end

require_relative "simulator/request"
require_relative "simulator/trace"
require_relative "simulator/weigher"
require_relative "simulator/policy"
require_relative "simulator/zipf"
require_relative "simulator/workload"
require_relative "simulator/workloads"
require_relative "simulator/virtual_clock"
require_relative "simulator/backend_target"
require_relative "simulator/replay"
require_relative "simulator/comparison"
