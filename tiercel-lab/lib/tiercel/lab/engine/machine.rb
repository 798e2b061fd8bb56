# frozen_string_literal: true

module Tiercel::Lab
  module Engine
    # Times one slice: wall time, garbage collection, CPU time of the process, compilations by YJIT, and waiting. YJIT's
    # own time is excluded, because a process compiles a method only once. (Five methods take 2 ms, as long as 1,000
    # reads of `shared:` with cold processor caches.)
    module Stopwatch
      SCHEDULING = "/proc/self/schedstat"
      STATUS = "/proc/self/status"

      module_function

      # @return [Float] seconds of the monotonic clock
      def seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # - wait_ns: time in which the process slept or waited for locks or input; 0 if it never left the CPU
      # - delay_ns: time in the run queue, while other processes had the CPU; nil if the kernel does not report it
      #
      # @yield the slice
      # @return [Array<Integer>] ns, gc_ns, cpu_ns, ISEQs compiled, wait_ns, delay_ns
      def time
        before = compilations
        switches, delay, gc = switches(), delay(), GC.total_time
        cpu, started = cpu_ns, wall_ns
        yield
        ns, cpu = wall_ns - started, cpu_ns - cpu
        gc = GC.total_time - gc
        delay &&= delay() - delay
        waited = switches == switches() ? 0 : [ns - cpu - delay.to_i, 0].max
        compiled, compiling_ns = compilations.zip(before).map { |now, earlier| now - earlier }
        # YJIT times its compilations by the wall clock, so beside other programs nothing may be left of a short slice.
        # 1 ns is a number that other figures can be divided by.
        [[ns - compiling_ns, 1].max, gc, [cpu - compiling_ns, 1].max, compiled, waited, delay]
      end

      def wall_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

      def cpu_ns = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)

      # Counts how often the process left the CPU voluntarily.
      def switches
        File.read(STATUS)[/^voluntary_ctxt_switches:\s*(\d+)/, 1]
      rescue SystemCallError
        nil
      end

      def delay
        Integer(File.read(SCHEDULING).split[1])
      rescue SystemCallError, TypeError
        nil
      end

      # @return [Integer] pages of memory that the process has touched (proc(5), minflt); 0 if unknown
      def pages
        File.read("/proc/self/stat").rpartition(")").last.split[7].to_i
      rescue SystemCallError
        0
      end

      # @return [Array(Integer, Integer)] number of ISEQs that YJIT has compiled, and nanoseconds that this took
      def compilations
        return [0, 0] unless defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?
        RubyVM::YJIT.runtime_stats.values_at(:compiled_iseq_count, :compile_time_ns).map(&:to_i)
      end
      private_class_method :wall_ns, :cpu_ns, :switches, :delay, :compilations
    end

    # CPU time and waiting time of other processes (Linux).
    module ServerCPU
      module_function

      # Reads the scheduler's account in nanoseconds (/proc/PID/task/*/schedstat).
      #
      # @param pids [Array<Integer>]
      # @return [Float, nil] seconds; nil if the kernel does not report it
      def seconds(pids)
        accounts = pids.map { |pid| scheduled(pid) }
        accounts.sum(&:first) / 1e9 if accounts.all?
      end

      # Time in the run queue, while other processes had the CPU.
      #
      # @param pids [Array<Integer>]
      # @return [Integer] nanoseconds; 0 if the system does not report it
      def delay_ns(pids) = pids.sum { |pid| scheduled(pid)&.last.to_i }

      # @return [Array(Integer, Integer), nil] nanoseconds on the CPU and in the run queue, of all threads
      def scheduled(pid)
        accounts = Dir.glob("/proc/#{pid}/task/*/schedstat").map { |file| File.read(file).split.first(2).map(&:to_i) }
        accounts.transpose.map(&:sum) if accounts.any?
      rescue SystemCallError
        nil
      end
      private_class_method :scheduled
    end

    # The memory that processes occupy (Linux).
    module ResidentMemory
      module_function

      # The proportional set size, in which each process counts its share of a shared page (/proc/PID/smaps_rollup).
      #
      # @param pids [Array<Integer>]
      # @return [Integer, nil] total bytes; nil if the system does not report it
      def bytes(pids)
        pids.sum { |pid| Integer(File.read("/proc/#{pid}/smaps_rollup")[/^Pss:\s*(\d+) kB/, 1]) * 1024 }
      rescue SystemCallError
        nil
      end
    end

    # The share of the machine's time that other programs took during a period: the hypervisor's part (steal), and the
    # time that processes waited for a CPU (pressure).
    class Disturbance
      def initialize
        @steal, @total = cpu_times
        @waited_us = waited_us
        @started = now
      end

      # @return [Hash{String => Float, nil}] shares of the time since {#initialize}; nil if the kernel does not report
      #   them
      def shares
        steal, total = cpu_times
        waited = waited_us
        { "steal" => (steal && total > @total ? (steal - @steal).fdiv(total - @total).round(4) : nil),
          "pressure" => (waited && ((waited - @waited_us) / ((now - @started) * 1e6)).round(4)) }
      end

      private

      # The fields are ticks: user nice system idle iowait irq softirq steal.
      def cpu_times
        times = File.foreach("/proc/stat").first.split.drop(1).first(8).map(&:to_i)
        [times[7], times.sum]
      rescue SystemCallError
        [nil, nil]
      end

      def waited_us
        File.read("/proc/pressure/cpu")[/^some .*total=(\d+)/, 1]&.to_i
      rescue SystemCallError
        nil
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # The environment of a figure besides the code: machine, operating system, versions.
    module Machine
      module_function

      # @return [Hash{String => Object}] the form of the results file
      def describe
        uname = Etc.uname
        { "cpu" => cpu, "cores" => Etc.nprocessors, "memory_mb" => memory_mb, "virtual" => virtual?,
          "os" => os, "kernel" => uname[:release], "arch" => uname[:machine], "ruby" => RUBY_DESCRIPTION,
          "load_average" => read("/proc/loadavg")&.split&.first(3)&.map(&:to_f), "git" => git }
      end

      # The cost of the first write to a page of 4 KB: the time to fill new memory, less the time to fill it again.
      #
      # @return [Float] microseconds; the least of several, because other programs only add to it
      def first_touch_us(bytes: 16 * 1024 * 1024)
        Warning[:experimental], before = false, Warning[:experimental]
        Array.new(5) {
          buffer = IO::Buffer.new(bytes)
          first, again = Array.new(2) do |pass|
            started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
            buffer.clear(pass + 1)
            Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
          end
          buffer.free
          (first - again) * 1e6 / (bytes / 4096)
        }.min.clamp(0.0..).round(3)
      ensure
        Warning[:experimental] = before
      end

      # @param facts [Hash] facts from {describe}
      # @return [String] one line
      def sentence(facts)
        [facts["cpu"], "#{facts["cores"]} cores", ("virtual" if facts["virtual"]), facts["os"],
         facts["ruby"][/\Aruby \S+/]].compact.join(", ")
      end

      def cpu
        read("/proc/cpuinfo")&.slice(/^model name\s*:\s*(.+)$/, 1) || "unknown CPU"
      end

      def memory_mb
        kilobytes = read("/proc/meminfo")&.slice(/^MemTotal:\s*(\d+)/, 1)
        kilobytes && (kilobytes.to_i / 1024)
      end

      def virtual? = read("/proc/cpuinfo")&.match?(/^flags.*\bhypervisor\b/)

      def os = read("/etc/os-release")&.slice(/^PRETTY_NAME="?([^"\n]+)/, 1) || Etc.uname[:sysname]

      def git
        folder = File.expand_path("../../../..", __dir__)
        sha = IO.popen(["git", "-C", folder, "rev-parse", "HEAD"], err: File::NULL, &:read).strip
        return nil if sha.empty?
        changes = IO.popen(["git", "-C", folder, "status", "--porcelain"], err: File::NULL, &:read)
        { "sha" => sha, "dirty" => !changes.empty? }
      rescue SystemCallError
        nil
      end

      def read(path)
        File.read(path)
      rescue SystemCallError
        nil
      end
      private_class_method :cpu, :memory_mb, :virtual?, :os, :git, :read
    end

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
