# frozen_string_literal: true

module Tiercel::Lab
  module Engine
    # The gems of a worker: the lab's own bundle, or a bundle of `tiercel-lab/gemfiles/NAME.gemfile`. A separate bundle
    # has gems that conflict with the other gems (Litecache needs sqlite3 1.x). The bundle is installed on first use,
    # into the user's cache folder.
    class Bundle
      FOLDER = File.expand_path("../../../../gemfiles", __dir__)

      # @return [String, nil]
      attr_reader :name

      # @param name [String, nil] name of a gemfile in {FOLDER}, or a gemfile's path; nil: the bundle of this process
      def initialize(name)
        @name = name
      end

      # @return [String, nil] the working directory of its processes; nil: the current one
      def directory = nil

      # @return [Hash{String => String, nil}] environment for a worker
      def environment
        return own_environment unless name
        own_environment.merge("BUNDLE_GEMFILE" => gemfile, "RUBYOPT" => "-rbundler/setup", "RUBYLIB" => nil,
                              "BUNDLER_ORIG_BUNDLE_GEMFILE" => nil)
      end

      # Installs missing gems. Without missing gems it makes no network request.
      #
      # @param progress [#say] receives a message before the installation begins
      # @return [void]
      # @raise [CannotRun] with a command for the user to run
      def install(progress: nil)
        return if name.nil?
        raise CannotRun, @failure if @failure
        prepare_gemfile unless File.exist?(gemfile) && File.read(gemfile) == File.read(source)
        return if installed?
        progress&.say("installing the bundle #{name} (once)")
        log = File.join(folder, "install.log")
        return if alone do
          installed? || system(clean_environment, bundler, "install", "--quiet", in: File::NULL, out: log, err: log)
        end
        raise CannotRun, @failure = "the bundle #{name} could not be installed " \
                                    "(#{File.readlines(log).last.to_s.strip}); see #{log}, or type: " \
                                    "BUNDLE_GEMFILE=#{gemfile} bundle install"
      end

      # @return [Boolean]
      def installed?
        return true unless name
        File.exist?(gemfile) && File.read(gemfile) == File.read(source) &&
          system(clean_environment, bundler, "check", in: File::NULL, out: File::NULL, err: File::NULL)
      end

      private

      # Other checkouts, bin/setup and bin/test install gems into the same folder; all take this lock.
      def alone
        FileUtils.mkdir_p(Gem.dir)
        File.open(File.join(Gem.dir, "setup.lock"), File::RDWR | File::CREAT) do |lock|
          lock.flock(File::LOCK_EX)
          yield
        end
      end

      # Keeps only the variables that load the bundle: options such as -w would slow the workers and fill their
      # output.
      def own_environment
        options = ENV["RUBYOPT"].to_s.split.grep(/bundler/).join(" ")
        { "RUBYOPT" => options.empty? ? nil : options }
      end

      # Removes the variables that make Ruby load a bundle (BUNDLER_SETUP since Bundler 2.4): the bundle is not
      # installed yet.
      def clean_environment
        { "BUNDLE_GEMFILE" => gemfile, "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLER_SETUP" => nil }
      end

      def source
        path = File.absolute_path?(name) ? name : File.join(FOLDER, "#{name}.gemfile")
        raise CannotRun, "there is no bundle #{name.inspect} in #{File.dirname(path)}" unless File.exist?(path)
        path
      end

      def prepare_gemfile
        FileUtils.mkdir_p(folder)
        FileUtils.cp(source, gemfile)
      end

      # Bundler writes the lock file beside the gemfile, so the gemfile is copied into a folder that the user may
      # write to.
      def gemfile = File.join(folder, "Gemfile")

      def folder
        UserFolders.cache("bundles", "#{label}-#{RUBY_VERSION}-#{RbConfig::CONFIG["arch"]}")
      end

      # Includes the folder: two gemfiles with the same name in different folders are two bundles.
      def label
        return name unless File.absolute_path?(name)
        "#{File.basename(name, ".gemfile")}-#{Digest::SHA256.hexdigest(name)[0, 8]}"
      end

      def bundler = File.join(RbConfig::CONFIG["bindir"], "bundle")
    end

    # Writes gemfiles that change one gem and keep the lab's versions of all others.
    class Gemfile
      # @return [String] the folder of the written files
      def self.folder = UserFolders.cache("gemfiles")

      # @param base [String, nil] path of a gemfile to change; nil: the gems of this process
      # @param name [String] name of the gem that differs
      # @param source [String] the rest of the gem's line ('"= 5.0.2"')
      def initialize(base:, name:, source:)
        @base = base
        @name = name
        @source = source
      end

      # A contestant's bundle with one gem changed.
      #
      # @param bundle [String, nil] see {Contestant}; nil: the gems of this process
      def self.based_on(bundle, name:, source:)
        base = bundle && (File.absolute_path?(bundle) ? bundle : File.join(Bundle::FOLDER, "#{bundle}.gemfile"))
        new(base:, name:, source:)
      end

      # @param label [String] label of the file
      # @return [String] its path
      def write(label)
        path = File.join(Gemfile.folder,
                         "#{label.gsub(/[^\w.-]/, "_")}-#{Digest::SHA256.hexdigest(text)[0, 8]}.gemfile")
        FileUtils.mkdir_p(Gemfile.folder)
        File.write(path, text) unless File.exist?(path) && File.read(path) == text
        path
      end

      # @return [String]
      def text = @text ||= @base ? changed(File.read(@base)) : own

      private

      def changed(text)
        line = /^gem "#{Regexp.escape(@name)}".*$/
        text.match?(line) ? text.sub(line, gem_line) : "#{text}\n#{gem_line}\n"
      end

      def own
        ["# frozen_string_literal: true", "", "Gem.sources.each { |registry| source registry }", "",
         *held.reject { |spec| spec.name == @name }.map { |spec| held_line(spec) }, gem_line, ""].join("\n")
      end

      def gem_line = "gem #{@name.inspect}, #{@source}"

      # Only gems that the bundle names: Bundler resolves their dependencies, so the changed gem may bring other
      # versions.
      def held
        bundled = defined?(Bundler) && Bundler.respond_to?(:definition)
        names = bundled ? Bundler.definition.dependencies.map(&:name) : Gem.loaded_specs.keys
        specs = Gem.loaded_specs.values_at(*names).compact
        specs.reject { |spec| spec.default_gem? || spec.name == "tiercel-lab" }.sort_by(&:name)
      end

      def held_line(spec)
        path = spec.respond_to?(:source) && spec.source.respond_to?(:path) ? spec.full_gem_path : nil
        path ? "gem #{spec.name.inspect}, path: #{path.inspect}" : "gem #{spec.name.inspect}, \"= #{spec.version}\""
      end
    end
  end
end
