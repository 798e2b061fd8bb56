# frozen_string_literal: true

module TestRunner
  # The runner was called with wrong arguments, or a declaration is wrong.
  class Error < StandardError; end

  # The comment with the suites of a test file. The comment precedes the first line of code.
  COMMENT = /^# suites: (.+)$/
  # The comment of a file that belongs to the quick suite.
  QUICK = /^# quick$/

  # Tests that run in one process (or as one list of commands), declared in test/suites.rb, which describes the options.
  # Paths are relative to the repository (`root`). `rails_line`: "8.1", for Rails' own test suites.
  Suite = Struct.new(:name, :root, :gemfile, :tests, :except, :commands, :rails_line, :on_demand, :workers, :needs,
                     :named_only, :quick, keyword_init: true) do
    # @return [String, nil] the reason why the suite cannot run here
    def missing = ("#{needs} is not set (test/README.md)" if needs && ENV[needs].to_s.empty?)

    # @param files [Array<String>] the files of the suite to run
    # @return [Integer] number of processes that share the tests
    def processes(files) = [workers || 1, files.size].min.clamp(1..)

    # @return [Array<String>] paths of its files relative to the repository, in order
    def files
      @files ||= Dir.glob(tests.to_a, base: root).reject { |path| excepted?(path) || !chosen_by_comment?(path) }.sort
    end

    # @param paths [Array<String>] files and folders, relative to the repository
    # @return [Array<String>] the files of the suite that these paths contain
    def files_in(paths)
      files.select { |file| paths.any? { |path| path == file || path == "." || file.start_with?("#{path}/") } }
    end

    private

    def excepted?(path)
      except.to_a.any? { |pattern| File.fnmatch?(pattern, path, File::FNM_EXTGLOB | File::FNM_PATHNAME) }
    end

    def chosen_by_comment?(path)
      return Suite.head(File.join(root, path)).match?(QUICK) if quick
      patterns = Suite.comment(File.join(root, path))
      patterns ? patterns.any? { |pattern| File.fnmatch?(pattern, name) } : !named_only
    end

    # @return [Array<String>, nil] names or globs in the comment of a file; nil without a comment
    def self.comment(path) = head(path)[COMMENT, 1]&.split(/[\s,]+/)

    # @return [String] the comments above the first line of code
    def self.head(path) = File.foreach(path).take_while { |line| line.start_with?("#") || line.strip.empty? }.join
  end
end
