# frozen_string_literal: true

require "yaml"

module Tiercel::Lab
  module Tables
    module Gate
      # The settings of a repository's gate: the section `gate` of `.tiercel-lab.yml`. Unknown keys are errors,
      # because a misspelled margin would gate nothing.
      class Configuration
        FILE = ".tiercel-lab.yml"
        # Exact figures: the key in the file, and the words of the report.
        EXACT = { "objects" => "objects allocated by one call", "stored_bytes" => "bytes stored for one value",
                  "round_trips" => "round trips of one call", "wire_bytes" => "bytes on the wire for one call",
                  "queries" => "SQL queries of one call",
                  "kept_objects" => "objects that the process keeps" }.freeze
        TIME = "time"
        # A smaller difference in time has no practical importance. For exact figures, any increase fails the gate. Kept
        # objects are an exception, because code and constants of two versions differ by thousands.
        MARGINS = { TIME => 0.05, **EXACT.to_h { |metric, _words| [metric, 0] }, "kept_objects" => 20_000 }.freeze
        SERVERS = %w[memcached redis].freeze
        ON_CANNOT_TELL = %w[pass fail].freeze
        DEFAULTS = { "benchmarks" => "bench/**/*_bench.rb", "cells" => [], "servers" => [], "margins" => {},
                     "budget" => 300, "prepare" => [], "sources" => nil, "cannot_tell" => "pass" }.freeze
        CELL = { "store" => nil, "operations" => %w[read write], "values" => %w[html-2kb] }.freeze

        # @param path [String] path of the file
        # @return [Configuration]
        # @raise [UsageError] if the file is missing or invalid
        def self.read(path)
          raise UsageError, "#{path}: there is no such file; `init gate` writes it" unless File.file?(path)
          new(YAML.safe_load_file(path) || {}, path:)
        rescue Psych::Exception => e
          raise UsageError, "#{path}: not YAML: #{e.message}"
        end

        # @param facts [Hash] the file's content
        # @param path [String] the file's path, for messages
        def initialize(facts, path: FILE)
          @path = path
          own = facts.is_a?(Hash) ? facts["gate"] || {} : facts
          @facts = DEFAULTS.merge(mapping(own, "gate", DEFAULTS.keys).compact)
          check
        end

        # @return [Array<String>] globs of files with benchmarks, below the repository
        def benchmarks = list("benchmarks")

        # @return [Array<Array(String, String, String)>] store, operation and value of each cell of the lab's own
        def cells
          @facts["cells"].flat_map do |cell|
            store, *others = CELL.merge(cell.compact).values_at(*CELL.keys).map { |part| Array(part) }
            store.product(*others)
          end
        end

        # @return [Array<String>] servers that run for the benchmarks
        def servers = list("servers")

        # @return [Hash{String => Float, nil}] the allowed growth of each figure: a share for the time, a number for
        #   exact figures; nil if the figure cannot fail the gate (a time is then not even measured)
        def margins = MARGINS.merge(@facts["margins"])

        # @return [Float] seconds for timings
        def budget_seconds = Float(@facts["budget"])

        # @return [Array<String>] shell commands that make a tree ready
        def prepare = list("prepare")

        # @return [Array<String>, nil] globs of files that figures can depend on; nil: all
        def sources = @facts["sources"] && list("sources")

        # @return [Hash{String => Object}] the form of the results file
        def describe
          { "benchmarks" => benchmarks, "cells" => cells.map { |cell| cell.join(" ") }, "margins" => margins,
            "budget_seconds" => budget_seconds, "servers" => servers, "cannot_tell" => @facts["cannot_tell"] }
        end

        private

        def check
          mapping(@facts["margins"], "margins", MARGINS.keys).each { |name, margin| check_margin(name, margin) }
          cells, budget, word = @facts.values_at("cells", "budget", "cannot_tell")
          refuse("cells", cells, "a list of mappings with store, operations, values") unless cells.is_a?(Array)
          cells.each { |cell| check_cell(cell) }
          (servers - SERVERS).each { |name| refuse("servers", name, SERVERS.join(", ")) }
          refuse("budget", budget, "seconds above 0") unless budget.is_a?(Numeric) && budget.positive?
          refuse("cannot_tell", word, ON_CANNOT_TELL.join(" or ")) unless ON_CANNOT_TELL.include?(word)
          %w[benchmarks prepare sources].each { |key| list(key) }
        end

        def check_margin(name, margin)
          return if margin.nil? || (margin.is_a?(Numeric) && !margin.negative?)
          refuse("margins: #{name}", margin, "a number of at least 0 (time: a share, 0.05 is 5 %), or null")
        end

        def check_cell(cell)
          mapping(cell, "cells", CELL.keys)
          refuse("cells", cell, "a store") unless cell["store"]
        end

        def mapping(facts, key, known)
          refuse(key, facts, "a mapping of #{known.join(", ")}") unless facts.is_a?(Hash)
          unknown = facts.keys.map(&:to_s) - known
          return facts if unknown.empty?
          raise UsageError, "#{@path}: #{key}: #{Catalogue.unknown("key", unknown.first, known)}"
        end

        def list(key)
          found = Array(@facts[key])
          return found if found.all?(String)
          refuse(key, found, "words, or a list of them")
        end

        def refuse(key, found, expected)
          raise UsageError, "#{@path}: #{key}: #{found.inspect}: expected #{expected}"
        end
      end

      # The bundle of a tree: the tree's Gemfile, or the lab's bundle if the tree has none.
      class TreeBundle < Engine::Bundle
        # @return [String] working directory of its processes
        attr_reader :directory

        # @param directory [String] directory of the tree
        # @param variables [Hash{String => String}] further ones
        # @param libraries [Array<String>] folders to require from that the tree's own gems need not have
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
        rescue StandardError # a Gemfile of the lab's own process may be nowhere
          { "BUNDLE_FROZEN" => "false", "BUNDLE_DEPLOYMENT" => "false" }
        end
      end

      # One side of a gate: the files of a revision, copied into the user's cache folder and built there. Both sides
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
        # @param configuration [Configuration]
        def initialize(name, revision:, sha:, checkout:, configuration:)
          @name = name
          @text = revision
          @sha = sha
          @checkout = checkout
          @configuration = configuration
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
          key = Digest::SHA256.hexdigest([sha, @configuration.prepare, RUBY_DESCRIPTION].join("\0"))[0, 20]
          File.join(Tree.trees, "#{File.basename(@checkout.folder)}-#{key}")
        end

        # @return [Array<String>] files with benchmarks
        def files = @configuration.benchmarks.flat_map { |glob| Dir.glob(glob, base: folder).sort }.uniq

        # @param cell [GatedCell]
        # @param again [Boolean] whether to use a separate worker
        # @return [Contestant] a contestant that runs with this tree's gems
        def contestant(cell, again: false)
          own = again ? (@again ||= bundle.with) : bundle
          Compare::Placed.contestant(cell.text, name: "#{name}: #{cell.label}", bundle: own)
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
          @configuration.prepare.empty? ? compile(progress) : run_commands(progress)
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
          @configuration.prepare.each do |command|
            progress.say("#{name}: #{command}")
            Extensions.run("sh", "-c", command, folder:, variables:)
          end
        end
      end
    end
  end
end
