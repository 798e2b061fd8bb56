# frozen_string_literal: true

module Tiercel
  module Lab
    module Engine
      # Assigns CPUs to workers and servers. Two workers of the same code differed by 16 to 30 % while the kernel moved
      # them between CPUs, and by 2 to 3 % when pinned.
      class Pinning
        # @return [Integer, nil] the workers' CPU; nil: not pinned
        attr_reader :worker_cpu
        # @return [Integer, nil] the servers' CPU
        attr_reader :server_cpu

        # @param cpus [Array<Integer>] CPUs that this process may use
        # @param taskset [Boolean] whether the program taskset is installed
        def initialize(cpus: Pinning.allowed_cpus, taskset: Pinning.taskset?)
          return unless taskset && cpus.size > 1
          # Workers use the second CPU, servers the first. The first CPU handles interrupts, and the last one of some
          # machines is slow.
          @worker_cpu = cpus[1]
          @server_cpu = cpus[0]
        end

        # @return [Array<String>] the words before a worker's command
        def worker_prefix = worker_cpu ? ["taskset", "--cpu-list", worker_cpu.to_s] : []

        # @return [String]
        def to_s
          worker_cpu ? "workers on CPU #{worker_cpu}, servers on CPU #{server_cpu}" : "not pinned"
        end

        # @return [Array<Integer>]
        def self.allowed_cpus
          list = File.read("/proc/self/status")[/^Cpus_allowed_list:\s*(.*)$/, 1]
          list.split(",").flat_map { |part| Range.new(*part.split("-").map(&:to_i).values_at(0, -1)).to_a }
        rescue SystemCallError, NoMethodError
          []
        end

        # @return [Boolean]
        def self.taskset?
          ENV.fetch("PATH", "").split(File::PATH_SEPARATOR).any? do |folder|
            File.executable?(File.join(folder, "taskset"))
          end
        end
      end
    end
  end
end
