# frozen_string_literal: true

module Tiercel::Lab
  module Sides
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

    # The bundle of a tree: the tree's Gemfile, or the lab's bundle if the tree has none.
    class TreeBundle < Engine::Bundle
      # @return [String] working directory of its processes
      attr_reader :directory

      # @param directory [String] directory of the tree
      # @param variables [Hash{String => String}] further ones
      # @param libraries [Array<String>] folders of libraries that the tree's own gems may lack
      def initialize(directory, variables: {}, libraries: [])
        super(File.exist?(File.join(directory, "Gemfile")) ? directory : nil)
        @directory = directory
        @variables = variables
        @libraries = libraries
      end

      # @return [TreeBundle] a copy, whose contestants get a process of their own
      def with(libraries: @libraries) = TreeBundle.new(directory, variables: @variables, libraries:)

      def environment
        own = name ? { "BUNDLE_GEMFILE" => gemfile, "RUBYOPT" => "-rbundler/setup", **bundler_settings } : {}
        super.merge(own, "RUBYLIB" => libraries.join(File::PATH_SEPARATOR), **@variables)
      end

      # @raise [CannotRun]
      def install(progress: nil)
        return if name.nil? || @installed || (@installed = installed?)
        progress&.say("installing the gems of #{File.basename(directory)}")
        log = File.join(directory, "tmp", "tiercel-lab-install.log")
        FileUtils.mkdir_p(File.dirname(log))
        return @installed = true if system(clean_environment, bundler, "install", "--quiet", chdir: directory,
                                           in: File::NULL, out: log, err: log)
        raise CannotRun, "the gems of #{directory} could not be installed " \
                         "(#{File.readlines(log).last.to_s.strip}); see #{log}"
      end

      def installed?
        return true unless name
        system(clean_environment, bundler, "check", chdir: directory, in: File::NULL, out: File::NULL,
                                                    err: File::NULL)
      end

      def to_s = directory

      private

      def gemfile = File.join(directory, "Gemfile")

      # The load path begins with the gem's own files.
      def libraries
        own = Dir.glob("*.gemspec", base: directory).any? ? [File.join(directory, "lib")] : []
        own + @libraries
      end

      def clean_environment = super.merge(bundler_settings)

      # A checkout with a gem folder of its own (BUNDLE_PATH, as in CI) shares the folder with its trees. Bundler
      # may add entries to a lock file there.
      def bundler_settings
        path = defined?(Bundler) && Bundler.settings[:path]
        root = defined?(Bundler) && Bundler.respond_to?(:root) ? Bundler.root.to_s : Dir.pwd
        settings = { "BUNDLE_FROZEN" => "false", "BUNDLE_DEPLOYMENT" => "false" }
        path ? settings.merge("BUNDLE_PATH" => File.expand_path(path, root)) : settings
      rescue StandardError # the lab's own process may have no Gemfile
        { "BUNDLE_FROZEN" => "false", "BUNDLE_DEPLOYMENT" => "false" }
      end
    end

    # One side of a change: the files of a revision, copied into the user's cache folder and built there. Both sides
    # are built in the same way, also the working copy.
    class Tree
      # Trees that are unused for this long are removed.
      KEPT_SECONDS = 14 * 24 * 3600
      READY = ".tiercel-lab-ready"
      FILES = "TIERCEL_LAB_BENCHMARKS"

      # @return [String] "base" or "head"
      attr_reader :name
      # @return [String] the revision as the user named it
      attr_reader :text
      # @return [String] the tree's hash in Git
      attr_reader :sha
      attr_reader :commit

      # @param name [String] name of the side: "base" or "head"
      # @param revision [String]
      # @param sha [String] Git hash of its files, see {Checkout#tree}
      # @param checkout [Checkout]
      # @param prepare [Array<String>] shell commands that make a tree ready
      # @param benchmarks [Array<String>] globs of files with benchmarks
      def initialize(name, revision:, sha:, checkout:, prepare: [], benchmarks: [])
        @name = name
        @text = revision
        @sha = sha
        @checkout = checkout
        @commands = prepare
        @benchmarks = benchmarks
        @commit = checkout.commit(revision)
      end

      # Copies and builds the tree, unless the same content is already there.
      #
      # @param progress [#say]
      # @raise [CannotRun]
      def prepare(progress)
        sweep
        return FileUtils.touch(ready) if File.exist?(ready)
        FileUtils.rm_rf(folder)
        FileUtils.mkdir_p(folder)
        @checkout.write(sha, folder)
        copy_lock
        build(progress)
        FileUtils.touch(ready)
      end

      # @return [TreeBundle]
      def bundle = @bundle ||= TreeBundle.new(folder, variables: { FILES => files.join("\n") })

      # @return [String]
      def folder
        key = Digest::SHA256.hexdigest([sha, @commands, RUBY_DESCRIPTION].join("\0"))[0, 20]
        File.join(Tree.trees, "#{File.basename(@checkout.folder)}-#{key}")
      end

      # @return [Array<String>] files with benchmarks
      def files = @benchmarks.flat_map { |glob| Dir.glob(glob, base: folder).sort }.uniq

      # @param cell [Cell]
      # @param again [Boolean] whether to use a separate worker
      # @return [Contestant] a contestant that runs with this tree's gems
      def contestant(cell, again: false)
        own = again ? (@again ||= bundle.with) : bundle
        Placed.contestant(cell.text, name: "#{name}: #{cell.label}", bundle: own)
      end

      # @return [Hash{String => Object}] the form of the results file
      def describe
        { "name" => name, "text" => text, "sha" => commit, "tree" => sha,
          "title" => text == Checkout::HERE ? "the checkout as it is" : @checkout.title(commit) }
      end

      # @return [String]
      def self.trees = UserFolders.cache("trees")

      private

      def ready = File.join(folder, READY)

      def sweep
        Dir.glob(File.join(Tree.trees, "*")).each do |path|
          marker = File.join(path, READY)
          used = File.mtime(File.exist?(marker) ? marker : path)
          FileUtils.rm_rf(path) if Time.now - used > KEPT_SECONDS
        end
      end

      # Gems often do not commit their lock file; both sides then use the checkout's versions.
      def copy_lock
        own, target = [@checkout.folder, folder].map { |place| File.join(place, "Gemfile.lock") }
        FileUtils.cp(own, target) if File.exist?(own) && !File.exist?(target)
      end

      def build(progress)
        install(progress)
        @commands.empty? ? compile(progress) : run_commands(progress)
      rescue CannotRun => e
        raise CannotRun, "#{name} (#{text}): #{e.message}"
      end

      def install(progress) = bundle.install(progress:)

      def compile(progress)
        extensions = Extensions.new(folder)
        progress.say("#{name}: compiling") if extensions.any?
        extensions.build
      end

      def run_commands(progress)
        variables = { "TIERCEL_LAB_SIDE" => name, "BUNDLE_GEMFILE" => bundle.environment["BUNDLE_GEMFILE"] }
        @commands.each do |command|
          progress.say("#{name}: #{command}")
          Extensions.run("sh", "-c", command, folder:, variables:)
        end
      end
    end
  end
end
