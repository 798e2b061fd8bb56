# frozen_string_literal: true

module TestRunner
  # The runner was called with wrong arguments, or a declaration is wrong.
  class Error < StandardError; end

  # Tests that run in one process (or as one list of commands), declared in test/suites.rb.
  class Suite
    # The comment with the suites of a test file. It precedes the first line of code.
    COMMENT = /^# suites: (.+)$/
    # The comment of a file that belongs to the quick suite.
    QUICK = /^# quick$/

    # @return [String]
    attr_reader :name
    # @return [String, nil] path relative to the repository
    attr_reader :gemfile
    # @return [String, nil] the path of the file that declares the shell commands
    attr_reader :commands
    # @return [String, nil] "8.1", for Rails' own test suites
    attr_reader :rails_line
    # @return [String, nil] an environment variable; if it is not set, the suite is skipped
    attr_reader :needs

    def initialize(name, root:, gemfile: nil, tests: [], except: [], commands: nil, rails_line: nil, on_demand: false,
                   waits: false, alone: false, workers: 1, needs: nil, named_only: false, quick: false)
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
      @named_only = named_only
      @quick = quick
    end

    # @return [String, nil] the reason why the suite cannot run here
    def missing = ("#{needs} is not set (test/README.md)" if needs && ENV[needs].to_s.empty?)

    # @return [Boolean] whether it runs only if it is named
    def on_demand? = @on_demand

    # @return [Boolean]
    def commands? = !@commands.nil?

    # @return [Boolean] whether it mostly waits, so that another suite can run concurrently
    def waits? = @waits

    # @return [Boolean] whether no other suite may run concurrently: it measures, or uses the CPU all the time
    def alone? = @alone

    # @param files [Array<String>] the files of the suite to run
    # @return [Integer] number of processes that share the tests
    def workers(files) = [@workers, files.size].min.clamp(1..)

    # @return [Array<String>] paths of its files relative to the repository, in order
    def files
      @files ||= Dir.glob(@tests, base: @root).reject { |path| excepted?(path) || !chosen_by_comment?(path) }.sort
    end

    # @param paths [Array<String>] files and folders, relative to the repository
    # @return [Array<String>] the files of the suite that these paths contain
    def files_in(paths)
      files.select { |file| paths.any? { |path| path == file || path == "." || file.start_with?("#{path}/") } }
    end

    private

    def excepted?(path)
      @except.any? { |pattern| File.fnmatch?(pattern, path, File::FNM_EXTGLOB | File::FNM_PATHNAME) }
    end

    def chosen_by_comment?(path)
      return self.class.head(File.join(@root, path)).match?(QUICK) if @quick
      patterns = self.class.comment(File.join(@root, path))
      patterns ? patterns.any? { |pattern| File.fnmatch?(pattern, name) } : !@named_only
    end

    # @return [Array<String>, nil] names or globs in the comment of a file; nil without a comment
    def self.comment(path) = head(path)[COMMENT, 1]&.split(/[\s,]+/)

    # @return [String] the comments above the first line of code
    def self.head(path) = File.foreach(path).take_while { |line| line.start_with?("#") || line.strip.empty? }.join
  end
end
