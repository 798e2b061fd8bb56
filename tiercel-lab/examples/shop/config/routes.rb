# frozen_string_literal: true

Rails.application.routes.draw do
  root "products#index"
  resources :products, only: %i[index show] do
    get :guides, on: :collection
    get :summaries, on: :collection
    get :herd, on: :collection
  end
  get "api/products", to: "api#products"
  resource :search, only: :show
end
