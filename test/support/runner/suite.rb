# frozen_string_literal: true

module TestRunner
  # A mistake in how the runner was called, or in what it was given.
  class Error < StandardError; end

  # Tests that run in one process (or by one list of commands), as test/suites.rb declares them.
  class Suite
    # The comment that says which suites a file belongs to. It stands before the first line of code.
    COMMENT = /^# suites: (.+)$/

    # @return [String]
    attr_reader :name
    # @return [String, nil] path in the repository
    attr_reader :gemfile
    # @return [String, nil] path of the file that declares the shell commands
    attr_reader :commands
    # @return [String, nil] "8.1", for Rails' own behaviour suites
    attr_reader :rails_line
    # @return [String, nil] a variable of the environment, without which the suite is skipped
    attr_reader :needs

    def initialize(name, root:, gemfile: nil, tests: [], except: [], commands: nil, rails_line: nil, on_demand: false,
                   waits: false, alone: false, workers: 1, needs: nil)
      @name = name
      @root = root
      @gemfile = gemfile
      @tests = tests
      @except = except
      @commands = commands
      @rails_line = rails_line
      @on_demand = on_demand
      @waits = waits
      @alone = alone
      @workers = workers
      @needs = needs
    end

    # @return [String, nil] why it cannot run here
    def missing = ("#{needs} is not set (docs/testing.md)" if needs && ENV[needs].to_s.empty?)

    # @return [Boolean] whether it runs only when it is named
    def on_demand? = @on_demand

    # @return [Boolean]
    def commands? = !@commands.nil?

    # @return [Boolean] whether it waits more than it computes, and so runs beside others
    def waits? = @waits

    # @return [Boolean] whether nothing is to run beside it: what measures, and what computes all the time
    def alone? = @alone

    # @param files [Array<String>] those of its files that are run
    # @return [Integer] how many processes share their tests
    def workers(files) = [@workers, files.size].min.clamp(1..)

    # @return [Array<String>] paths in the repository of the files that belong to it, in order
    def files
      @files ||= Dir.glob(@tests, base: @root).reject { |path| excepted?(path) || !chosen_by_comment?(path) }.sort
    end

    # @param paths [Array<String>] of files and folders, in the repository
    # @return [Array<String>] those of its files that are among them
    def files_in(paths)
      files.select { |file| paths.any? { |path| path == file || path == "." || file.start_with?("#{path}/") } }
    end

    private

    def excepted?(path)
      @except.any? { |pattern| File.fnmatch?(pattern, path, File::FNM_EXTGLOB | File::FNM_PATHNAME) }
    end

    def chosen_by_comment?(path)
      patterns = self.class.comment(File.join(@root, path))
      patterns.nil? || patterns.any? { |pattern| File.fnmatch?(pattern, name) }
    end

    # @return [Array<String>, nil] the names or globs in a file's comment, nil where it has none
    def self.comment(path)
      head = File.foreach(path).take_while { |line| line.start_with?("#") || line.strip.empty? }
      head.join[COMMENT, 1]&.split(/[\s,]+/)
    end
  end
end
