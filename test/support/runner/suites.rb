# frozen_string_literal: true

require_relative "suite"

module TestRunner
  # The suites declared in a file.
  class Suites
    include Enumerable

    # @param path [String] the declaring file
    # @param root [String] the base folder of its paths
    def initialize(path, root:)
      @root = root
      @suites = {}
      instance_eval(File.read(path), path)
      check_comments
    end

    # @yieldparam suite [Suite]
    def each(&) = @suites.each_value(&)

    # @param names [Array<String>] exact names, or prefixes of on-demand suites ("rails_behaviours")
    # @return [Array<Suite>] without names: all suites that do not run on demand
    def named(names)
      return reject(&:on_demand) if names.empty?
      names.flat_map do |name|
        found = [@suites[name]].compact
        found = select { |suite| suite.on_demand && suite.name.start_with?(name) } if found.empty?
        raise Error, "#{name.inspect} is neither a suite (#{@suites.keys.join(", ")}) nor a path" if found.empty?
        found
      end
    end

    # @param paths [Array<String>] paths relative to the repository
    # @return [Hash{Suite => Array<String>}] one suite for each file: store if it contains the file, otherwise the
    #   first one
    def for_paths(paths)
      order = sort_by.with_index { |suite, index| [suite.name == "store" ? 0 : 1, index] }
      taken = []
      order.each_with_object({}) do |suite, files_by_suite|
        files = suite.files_in(paths) - taken
        taken.concat(files)
        files_by_suite[suite] = files unless files.empty?
      end
    end

    private

    def suite(name, **options)
      raise Error, "suite #{name.inspect} is declared twice" if @suites.key?(name)
      @suites[name] = Suite.new(name:, root: @root, **options)
    end

    # A misspelt comment would silently exclude a file from all suites.
    def check_comments
      Dir.glob("{test,tiercel-insight/test,tiercel-lab/test}/**/*_test.rb", base: @root).each do |path|
        Suite.comment(File.join(@root, path))&.each do |pattern|
          next if any? { |suite| File.fnmatch?(pattern, suite.name) }
          raise Error, "#{path}: \"# suites: #{pattern}\" names no suite; there are #{@suites.keys.join(", ")}"
        end
      end
    end
  end
end
