# frozen_string_literal: true

module Tiercel::Lab
  # A benchmark of the user, in the process that runs it.
  Benchmark = Data.define(:name, :setup, :expect, :clock, :block) do
    def initialize(name:, setup:, expect:, clock:, block:)
      raise UsageError, "benchmark #{name.inspect}: expected a name" unless name.is_a?(String) && !name.empty?
      raise UsageError, "benchmark #{name.inspect}: expected a block" unless block
      raise UsageError, "benchmark #{name.inspect}: clock: #{clock.inspect}: expected :cpu or :wall" unless
        %i[cpu wall].include?(clock)
      super
    end

    # @param found [Object] the return value of a call
    # @raise [WrongValue]
    def check(found)
      return if expect.nil? || (expect.respond_to?(:call) ? expect.call(found) : expect == found)
      wanted = expect.respond_to?(:call) ? "which its expect: refuses" : "expected #{expect.inspect[0, 60]}"
      raise WrongValue, "returned #{found.inspect[0, 60]}, #{wanted}"
    end
  end

  # The benchmarks of the files that this process has loaded, by name.
  module Benchmarks
    # A benchmark's block and its argument, as a contestant builds them.
    Ready = Struct.new(:benchmark, :subject) do
      def block = benchmark.block

      def verify = benchmark.check(block.call(subject))
    end

    module_function

    # @raise [UsageError] if the name is taken
    def add(benchmark)
      raise UsageError, "benchmark #{benchmark.name.inspect} is declared twice" if all.key?(benchmark.name)
      all[benchmark.name] = benchmark
    end

    # Loads the files once, from the folder of the tree.
    #
    # @param files [Array<String>]
    # @param folder [String]
    def load(files = ENV.fetch("TIERCEL_LAB_BENCHMARKS", "").lines(chomp: true), folder: Dir.pwd)
      @load ||= files.each { |file| Kernel.load(File.expand_path(file, folder)) }
    end

    # @param name [String]
    # @return [Ready]
    # @raise [CannotRun]
    def ready(name)
      load
      benchmark = all.fetch(name) { raise CannotRun, "benchmark #{name.inspect} is in no file" }
      Ready.new(benchmark, benchmark.setup&.call)
    end

    def all = @all ||= {}
  end
end
