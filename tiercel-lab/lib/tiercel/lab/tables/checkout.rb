# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # Reads the user's Git repository. The repository stays unchanged: Git works with a copy of the index, and writes
    # new objects into another folder.
    class Checkout
      # The working copy, with uncommitted changes.
      HERE = "."

      # @return [String] folder
      attr_reader :folder

      # @param folder [String] anywhere inside of it
      # @raise [UsageError] if it is in none
      def initialize(folder)
        said, status = Open3.capture2e("git", "-C", folder, "rev-parse", "--show-toplevel")
        raise UsageError, "#{folder}: no git repository: #{said.lines.last.to_s.strip}" unless status.success?
        @folder = said.strip
      end

      # @param revision [String] anything that `git rev-parse` resolves, or "."
      # @return [String] hash of the commit
      # @raise [UsageError] if there is none
      def commit(revision)
        name = revision == HERE ? "HEAD" : revision
        git("rev-parse", "--verify", "--quiet", "--end-of-options", "#{name}^{commit}").strip
      rescue CannotRun
        raise UsageError, "revision #{revision.inspect} is not in #{folder}#{shallow_words}"
      end

      # Makes a tree of a revision, with some files taken from another tree, so that both sides run the same benchmarks.
      #
      # @param revision [String]
      # @param over [String, nil] tree whose files of `globs` replace the files of the revision
      # @param globs [Array<String>] none: nothing is laid over it
      # @return [String] hash of the tree
      def tree(revision, over: nil, globs: [])
        with_index do |index|
          if revision == HERE
            copy_index(index)
            git("add", "--all", index:)
          else
            git("read-tree", commit(revision), index:)
          end
          lay_over(entries(over, globs), index) if over && globs.any?
          git("write-tree", index:).strip
        end
      end

      # @param tree [String]
      # @param globs [Array<String>] none: all
      # @return [Hash{String => String}] "MODE TYPE OBJECT" by path
      def entries(tree, globs = [])
        git("ls-tree", "-r", "-z", tree).split("\0").to_h { |line| line.split("\t", 2).reverse }.select do |path, _|
          globs.empty? || globs.any? { |glob| File.fnmatch?(glob, path, File::FNM_PATHNAME | File::FNM_EXTGLOB) }
        end
      end

      # Writes all files of a tree, even those that `export-ignore` leaves out of archives.
      def write(tree, target)
        with_index do |index|
          git("read-tree", tree, index:)
          git("checkout-index", "--all", "--force", "--prefix=#{target}/", index:)
        end
      end

      # @return [String] first line of a commit's message
      def title(commit) = git("log", "-1", "--format=%s", commit).strip

      # The values of a trailer in the messages of commits between two revisions, such as `Accept-Regression: parse`.
      #
      # @return [Array<String>]
      def trailers(base, head, key)
        format = "%(trailers:key=#{key},valueonly,unfold)"
        git("log", "--format=#{format}", "#{base}..#{head}").lines.map(&:strip).reject(&:empty?)
      rescue CannotRun
        []
      end

      private

      def with_index
        Dir.mktmpdir("tiercel-lab-index") { |folder| yield File.join(folder, "index") }
      end

      # With the index, Git need not read unchanged files. The copy keeps its modification time, because Git reads
      # files again that changed in the same second.
      def copy_index(index)
        own = git("rev-parse", "--path-format=absolute", "--git-path", "index").strip
        FileUtils.cp(own, index, preserve: true) if File.exist?(own)
      end

      def lay_over(entries, index)
        lines = entries.map { |path, facts| "#{facts.split.values_at(0, 2).join(" ")} 0\t#{path}" }
        git("update-index", "-z", "--index-info", index:, input: lines.map { |line| "#{line}\0" }.join)
      end

      # Git writes objects of uncommitted files into a folder of the lab, not into the repository.
      def environment(index)
        own = @objects_folder ||= own_git("rev-parse", "--path-format=absolute", "--git-path", "objects").strip
        more = File.join(Checkout.objects, File.basename(folder))
        FileUtils.mkdir_p(more)
        { "GIT_INDEX_FILE" => index, "GIT_OBJECT_DIRECTORY" => more,
          "GIT_ALTERNATE_OBJECT_DIRECTORIES" => own }.compact
      end

      # @return [String]
      def self.objects = UserFolders.cache("objects")

      def git(*words, index: nil, input: "") = own_git(*words, environment: environment(index), input:)

      def own_git(*words, environment: {}, input: "")
        said, complaint, status = Open3.capture3(environment, "git", "-C", folder, *words, stdin_data: input)
        return said if status.success?
        raise CannotRun, "git #{words.first} failed in #{folder}: #{complaint.lines.last.to_s.strip}"
      end

      def shallow_words
        shallow = own_git("rev-parse", "--is-shallow-repository").strip == "true"
        shallow ? ", which is a shallow clone: fetch its history (actions/checkout: fetch-depth: 0)" : ""
      rescue CannotRun
        ""
      end
    end

    # Builds the C extensions of a copied tree into the tree's `lib/`, as RubyGems does for a gem.
    class Extensions
      # Variables of the lab's own bundle, which commands of a tree must not inherit.
      OWN = { "RUBYOPT" => nil, "RUBYLIB" => nil, "MAKEFLAGS" => nil, "BUNDLER_SETUP" => nil }.freeze

      # @param folder [String] folder of the tree
      def initialize(folder)
        @folder = folder
      end

      def any? = sources.any?

      # @raise [CannotRun]
      def build
        library = File.join(@folder, "lib")
        sources.each do |source|
          target = File.join(@folder, "tmp", "lab", File.basename(File.dirname(source)))
          FileUtils.mkdir_p(target)
          Extensions.run(RbConfig.ruby, source, folder: target)
          Extensions.run("make", "install", "sitearchdir=#{library}", "sitelibdir=#{library}", folder: target)
        end
      end

      # Runs a command of a tree, without the lab's own bundle.
      #
      # @param variables [Hash{String => String}] further ones
      # @raise [CannotRun]
      def self.run(*command, folder:, variables: {})
        said, status = Open3.capture2e(OWN.merge(variables), *command, chdir: folder)
        raise CannotRun, "#{command.join(" ")} failed: #{said.lines.last(3).join.strip}" unless status.success?
      end

      private

      def sources
        Dir.glob(File.join(@folder, "ext/**/extconf.rb")).select { |path| Dir.children(File.dirname(path)).size > 1 }
      end
    end
  end
end
