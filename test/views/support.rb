# frozen_string_literal: true

require "test_helper"
require "action_controller"
require "action_view"
require "active_model"
require "rack/mock"
require "active_support/cache/tiercel_store"
require "tiercel"

ActiveSupport.on_load(:action_view) { Tiercel::Fragments.install }

# The base class of tests with real controllers and templates.
class ViewTest < Tiercel::TestCase
  # A record without a database.
  Product = Struct.new(:id, :name, :updated_at) do
    include ActiveModel::Conversion
    extend ActiveModel::Naming

    def self.model_name = ActiveModel::Name.new(self, nil, "Product")
    def persisted? = true
    def cache_key = "products/#{id}"
    def cache_version = updated_at.to_s
    def cache_key_with_version = "#{cache_key}-#{cache_version}"
    def to_partial_path = "product"
  end

  # @return [Proc, nil] called by views that are rendered
  attr_accessor :on_render

  def setup
    super
    @renderings = Queue.new
  end

  private

  # @param store [ActiveSupport::Cache::Store]
  # @param templates [Hash{String => String}] ERB by the path of the template, such as "index" or "_product"
  # @yield the body of the class
  # @return [Class] a controller with an action for each template. Its views call `rendering(what)`, which returns what
  #   @on_render returns
  def controller(store: self.store, **templates, &body)
    renderings = @renderings
    test = self
    folder = view_folder(templates)
    Class.new(ActionController::Base) do
      def self.name = "PagesController"
      def self.controller_path = "pages"
      templates.each_key do |name|
        action = name[/\A[a-z]\w*(?=\z|\.)/]
        formats = [(name[/\.(\w+)\./, 1] || :html).to_sym]
        define_method(action) { render(action:, layout: false, formats:) } if action && !method_defined?(action)
      end
      self.view_paths = [folder]
      self.cache_store = store
      self.perform_caching = true
      helper do
        define_method(:rendering) do |what = :page|
          renderings << what
          test.on_render&.call(what)
        end
      end
      class_eval(&body) if body
    end
  end

  def view_folder(templates)
    folder = Dir.mktmpdir("tiercel-views-")
    (@folders ||= []) << folder
    templates.each do |path, text|
      path = "pages/#{path}" unless path.include?("/")
      path = "#{path}.html.erb" unless File.basename(path).include?(".")
      FileUtils.mkdir_p(File.dirname(File.join(folder, path)))
      File.write(File.join(folder, path), text)
    end
    folder
  end

  def teardown
    @folders&.each { |folder| FileUtils.rm_rf(folder) }
    super
  end

  # @return [String] the body of the response
  def get(controller, action = :index, path: "/", assigns: {})
    env = Rack::MockRequest.env_for(path)
    _status, _headers, body = controller.action(action).call(env)
    text = +""
    body.each { |part| text << part }
    text
  ensure
    body.close if body.respond_to?(:close)
  end

  def store = @store ||= Tiercel.new("memory:", size: "32MB")

  # @return [Array] what was rendered since the last call
  def rendered = Array.new(@renderings.size) { @renderings.pop }
end
